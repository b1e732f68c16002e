// The pattern log. python/iotune/patterns/pattern_log.py gives it types and explains units.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/pattern_log/pattern_log.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using analyzer::PatternLogReader;
using analyzer::PatternLogWriter;
using patterns::Extent;

using Column = Numbers<std::int64_t>;

class LogWriter {
 public:
  explicit LogWriter(std::size_t leaves) : writer_({leaves}) {}

  std::uint32_t add_stream(std::int64_t rank, const std::string& name) {
    check_open();
    ended_.push_back(false);
    return writer_.add_stream(rank, name);
  }
  void add(std::uint32_t stream, const py::buffer& offsets, const py::buffer& lengths,
           const py::object& physical) {
    check_open();
    check(stream);
    const std::vector<Extent> accesses = accesses_of(offsets, lengths);
    std::vector<std::int64_t> places;
    if (!physical.is_none()) {
      places = numbers_of(physical.cast<py::buffer>(), "physical");
      if (places.size() != accesses.size()) throw CoreError("not a place for each access");
    }
    const py::gil_scoped_release released;
    writer_.add(stream, accesses, places);
  }
  void end_stream(std::uint32_t stream) {
    check_open();
    check(stream);
    writer_.end_stream(stream);
    ended_[stream] = true;
  }
  py::bytes finish() {
    check_open();
    finished_ = true;
    return python_bytes(writer_.finish());
  }

 private:
  void check_open() const {
    if (finished_) throw CoreError("the log is finished");
  }
  void check(std::uint32_t stream) const {
    if (stream >= ended_.size()) throw CoreError("no stream " + std::to_string(stream));
    if (ended_[stream]) throw CoreError("stream " + std::to_string(stream) + " has ended");
  }
  PatternLogWriter writer_;
  std::vector<bool> ended_;
  bool finished_ = false;
};

// Accesses of one stream in pieces.
class LogAccesses {
 public:
  explicit LogAccesses(PatternLogReader::Accesses accesses, py::bytes bytes)
      : bytes_(std::move(bytes)), accesses_(std::move(accesses)) {}

  // Offsets, lengths, physical offsets of at most `most`; empty at the end.
  py::tuple read(std::size_t most) {
    std::vector<Extent> to(most);
    Column offsets, lengths, physical;
    physical.values.resize(most);
    {
      const py::gil_scoped_release released;
      const std::size_t got = accesses_.read(to, physical.values);
      if (accesses_.failed()) throw CoreError("a damaged pattern log");
      to.resize(got);
      physical.values.resize(got);
      for (const Extent& access : to) {
        offsets.values.push_back(access.offset);
        lengths.values.push_back(access.length);
      }
    }
    return py::make_tuple(std::move(offsets), std::move(lengths), std::move(physical));
  }

 private:
  py::bytes bytes_;
  PatternLogReader::Accesses accesses_;
};

class LogReader {
 public:
  explicit LogReader(py::bytes bytes) : bytes_(std::move(bytes)) {
    auto opened = PatternLogReader::open(bytes_of(bytes_));
    if (!opened) throw CoreError(PatternLogReader::why_not(bytes_of(bytes_)));
    reader_.emplace(std::move(*opened));
  }
  py::list streams() const {
    py::list list;
    for (const analyzer::PatternLogStream& stream : reader_->streams()) {
      list.append(py::make_tuple(stream.rank, text_of(stream.name)));
    }
    return list;
  }
  LogAccesses accesses(std::uint32_t stream) const {
    if (stream >= reader_->streams().size()) {
      throw CoreError("no stream " + std::to_string(stream));
    }
    return LogAccesses(reader_->accesses(stream), bytes_);
  }

 private:
  py::bytes bytes_;
  std::optional<PatternLogReader> reader_;
};

}  // namespace

void bind_pattern_log(py::module_& module) {
  py::class_<LogWriter>(module, "PatternLogWriter")
      .def(py::init<std::size_t>(), py::arg("leaves"))
      .def("add_stream", &LogWriter::add_stream, py::arg("rank"), py::arg("name"))
      .def("add", &LogWriter::add, py::arg("stream"), py::arg("offsets"), py::arg("lengths"),
           py::arg("physical"))
      .def("end_stream", &LogWriter::end_stream, py::arg("stream"))
      .def("finish", &LogWriter::finish);
  py::class_<LogAccesses>(module, "PatternLogAccesses")
      .def("read", &LogAccesses::read, py::arg("most"));
  py::class_<LogReader>(module, "PatternLogReader")
      .def(py::init<py::bytes>(), py::arg("bytes"))
      .def("streams", &LogReader::streams)
      .def("accesses", &LogReader::accesses, py::arg("stream"));
}
