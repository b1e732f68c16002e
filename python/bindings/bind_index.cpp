// The offset index. python/iotune/patterns/index.py gives it types and explains units.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/index/index_builder.h"
#include "analyzer/index/index_file.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using analyzer::BatchTimes;
using analyzer::IndexBuilder;
using analyzer::IndexPiece;
using analyzer::OffsetIndex;

using Column = Numbers<std::int64_t>;

void check(const std::optional<analyzer::Error>& wrong) {
  if (wrong) throw CoreError(wrong->text());
}

class Builder {
 public:
  explicit Builder(std::size_t entries) : builder_({entries}) {}

  // times: None, (first, last), or an array.
  void add(std::uint32_t stream, const py::buffer& offsets, const py::buffer& lengths,
           const py::object& physical, const py::object& times) {
    const std::vector<patterns::Extent> accesses = accesses_of(offsets, lengths);
    std::vector<std::int64_t> each, places;
    BatchTimes batch;
    if (py::isinstance<py::tuple>(times)) {
      const auto both = times.cast<std::pair<std::int64_t, std::int64_t>>();
      batch = BatchTimes(both.first, both.second);
    } else if (!times.is_none()) {
      each = numbers_of(times.cast<py::buffer>(), "times");
      if (each.size() != accesses.size()) throw CoreError("not a time for each access");
      batch = BatchTimes(each);
    }
    if (!physical.is_none()) places = numbers_of(physical.cast<py::buffer>(), "physical");
    const py::gil_scoped_release released;
    check(physical.is_none() ? builder_.add(stream, accesses, batch)
                             : builder_.add(stream, accesses, places, batch));
  }
  void add_index(const OffsetIndex& index, std::uint32_t first_stream) {
    check(builder_.add(index, first_stream));
  }
  void set_name(std::uint32_t stream, const std::string& name) {
    if (stream >= analyzer::kMostStreams) throw CoreError("a stream's number out of range");
    builder_.set_name(stream, name);
  }
  void begin_at(std::uint32_t stream, std::int64_t position, std::int64_t physical) {
    if (stream >= analyzer::kMostStreams) throw CoreError("a stream's number out of range");
    builder_.begin_at(stream, {position, physical});
  }
  OffsetIndex build() const {
    const py::gil_scoped_release released;
    return taken(builder_.build());
  }

 private:
  IndexBuilder builder_;
};

// offset, length, stream (-1: a hole), position, physical.
py::tuple columns_of(const std::vector<IndexPiece>& pieces) {
  Column columns[5];
  for (Column& column : columns) column.values.reserve(pieces.size());
  for (const IndexPiece& piece : pieces) {
    const std::int64_t stream = piece.is_hole() ? -1 : static_cast<std::int64_t>(piece.stream);
    const std::int64_t row[] = {piece.offset, piece.length, stream, piece.position, piece.physical};
    for (std::size_t c = 0; c < 5; ++c) columns[c].values.push_back(row[c]);
  }
  return py::make_tuple(std::move(columns[0]), std::move(columns[1]), std::move(columns[2]),
                        std::move(columns[3]), std::move(columns[4]));
}

py::tuple at(const OffsetIndex& index, const py::buffer& offsets) {
  const std::vector<std::int64_t> asked = numbers_of(offsets, "offsets");
  std::vector<IndexPiece> pieces;
  {
    const py::gil_scoped_release released;
    pieces.reserve(asked.size());
    for (const std::int64_t offset : asked) {
      if (offset < 0) throw CoreError("an offset below 0: " + std::to_string(offset));
      pieces.push_back(index.at(offset));
    }
  }
  return columns_of(pieces);
}

py::tuple pieces(const OffsetIndex& index, std::int64_t offset, std::int64_t length) {
  if (offset < 0 || length < 0) throw CoreError("a range below 0");
  std::vector<IndexPiece> found;
  {
    const py::gil_scoped_release released;
    found = index.pieces(offset, length);
  }
  return columns_of(found);
}

std::uint32_t checked(const OffsetIndex& index, std::uint32_t stream) {
  if (stream >= index.streams()) throw CoreError("no stream " + std::to_string(stream));
  return stream;
}

OffsetIndex index_of(const py::bytes& bytes, bool allow_damage) {
  const std::span<const std::byte> content = bytes_of(bytes);
  const py::gil_scoped_release released;
  return taken(analyzer::read_index(content, allow_damage));
}

}  // namespace

void bind_index(py::module_& module) {
  py::class_<OffsetIndex>(module, "OffsetIndex")
      .def("at", &at, py::arg("offsets"))
      .def("pieces", &pieces, py::arg("offset"), py::arg("length"))
      .def("end", &OffsetIndex::end)
      .def("streams", &OffsetIndex::streams)
      .def("stream_name",
           [](const OffsetIndex& index, std::uint32_t stream) {
             return text_of(index.stream_name(checked(index, stream)));
           })
      .def("stream_end",
           [](const OffsetIndex& index, std::uint32_t stream) {
             const analyzer::StreamEnd end = index.stream_end(checked(index, stream));
             return py::make_tuple(end.position, end.physical);
           })
      .def("time_of",
           [](const OffsetIndex& index, std::uint32_t stream, std::int64_t position) {
             return index.time_of(checked(index, stream), position);
           })
      .def("nests", &OffsetIndex::nests)
      .def("segments", &OffsetIndex::segments)
      .def("contested", &OffsetIndex::contested)
      .def("memory_bytes", &OffsetIndex::memory_bytes)
      .def("to_bytes",
           [](const OffsetIndex& index) { return python_bytes(analyzer::write_index(index)); });
  py::class_<Builder>(module, "IndexBuilder")
      .def(py::init<std::size_t>(), py::arg("entries"))
      .def("add", &Builder::add, py::arg("stream"), py::arg("offsets"), py::arg("lengths"),
           py::arg("physical"), py::arg("times"))
      .def("add_index", &Builder::add_index, py::arg("index"), py::arg("first_stream"))
      .def("set_name", &Builder::set_name, py::arg("stream"), py::arg("name"))
      .def("begin_at", &Builder::begin_at, py::arg("stream"), py::arg("position"),
           py::arg("physical"))
      .def("build", &Builder::build);
  module.def("read_index", &index_of, py::arg("bytes"), py::arg("allow_damage"),
             "analyzer/index/FORMAT.md");
}
