// The calls of a trace in batches of columns. python/iotune/traces/calls.py gives them types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/calls/call_columns.h"
#include "analyzer/calls/call_rows.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using analyzer::CallBatchColumns;
using analyzer::CallColumn;
using analyzer::CallColumnReader;

CallColumn column_called(const std::string& name) {
  for (std::size_t i = 0; i < analyzer::kCallColumns; ++i) {
    if (analyzer::column_name(static_cast<CallColumn>(i)) == name)
      return static_cast<CallColumn>(i);
  }
  throw CoreError("there is no column " + name);
}

// Memory that Python reads without a copy, through the buffer protocol.
struct Bytes {
  std::string values;
};

template <typename T>
void bind_numbers(py::module_& module, const char* name) {
  py::class_<Numbers<T>>(module, name, py::buffer_protocol()).def_buffer([](Numbers<T>& numbers) {
    return py::buffer_info(numbers.values.data(), static_cast<py::ssize_t>(sizeof(T)),
                           py::format_descriptor<T>::format(), 1,
                           {static_cast<py::ssize_t>(numbers.values.size())},
                           {static_cast<py::ssize_t>(sizeof(T))});
  });
}

class CallReader {
 public:
  CallReader(const std::string& path, std::vector<std::pair<std::int64_t, std::int64_t>> ranks,
             unsigned layers, std::vector<std::string> names, std::vector<std::string> files,
             std::uint64_t from_ns, std::uint64_t until_ns,
             const std::vector<std::string>& columns) {
    recorder::CallFilter filter{std::move(ranks), layers,  std::move(names),
                                std::move(files), from_ns, until_ns};
    for (const std::string& name : columns) columns_.push_back(column_called(name));
    const py::gil_scoped_release released;
    reader_.emplace(taken(analyzer::CallRows::open(path, std::move(filter))), columns_);
  }

  // None at the end, else the number of rows and the columns in the order asked for: a buffer
  // of numbers, or for texts a pair of bytes and offsets.
  py::object next(std::size_t limit) {
    CallBatchColumns batch;
    {
      const py::gil_scoped_release released;
      batch = reader_->next(limit);
    }
    if (batch.rows == 0) return py::none();
    py::list columns;
    for (const CallColumn column : columns_) {
      const auto at = static_cast<std::size_t>(column);
      if (!batch.offsets[at].empty()) {
        columns.append(py::make_tuple(Bytes{std::move(batch.bytes[at])},
                                      Numbers<std::int64_t>{std::move(batch.offsets[at])}));
      } else if (!batch.large[at].empty()) {
        columns.append(py::cast(Numbers<std::int64_t>{std::move(batch.large[at])}));
      } else {
        columns.append(py::cast(Numbers<std::int32_t>{std::move(batch.small[at])}));
      }
    }
    return py::make_tuple(batch.rows, columns);
  }

  py::list names(const std::string& column) const {
    py::list list;
    for (const std::string& name : reader_->names(column_called(column))) {
      list.append(text_of(name));
    }
    return list;
  }

  py::list losses() const {
    py::list list;
    for (const std::string& loss : reader_->rows().losses()) list.append(text_of(loss));
    return list;
  }

  std::uint64_t run_start_unix_ns() const { return reader_->rows().run_start_unix_ns(); }

 private:
  std::vector<CallColumn> columns_;
  std::optional<CallColumnReader> reader_;
};

}  // namespace

void bind_calls(py::module_& module) {
  bind_numbers<std::int32_t>(module, "SmallNumbers");
  bind_numbers<std::int64_t>(module, "LargeNumbers");
  bind_numbers<double>(module, "RealNumbers");
  py::class_<Bytes>(module, "Bytes", py::buffer_protocol()).def_buffer([](Bytes& bytes) {
    return py::buffer_info(bytes.values.data(), 1, py::format_descriptor<unsigned char>::format(),
                           1, {static_cast<py::ssize_t>(bytes.values.size())}, {1});
  });
  py::class_<CallReader>(module, "CallReader")
      .def(py::init<const std::string&, std::vector<std::pair<std::int64_t, std::int64_t>>,
                    unsigned, std::vector<std::string>, std::vector<std::string>, std::uint64_t,
                    std::uint64_t, const std::vector<std::string>&>(),
           py::arg("path"), py::arg("ranks"), py::arg("layers"), py::arg("names"), py::arg("files"),
           py::arg("from_ns"), py::arg("until_ns"), py::arg("columns"))
      .def("next", &CallReader::next, py::arg("limit"))
      .def("names", &CallReader::names, py::arg("column"))
      .def("losses", &CallReader::losses)
      .def("run_start_unix_ns", &CallReader::run_start_unix_ns);
}
