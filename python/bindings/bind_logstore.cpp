// Containers of the log store. python/iotune/logstore/container.py gives them types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>

#include "logstore/read/container.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"

namespace py = pybind11;

namespace {

using iotune::logstore::Container;
using iotune::logstore::WriterReport;

py::bytes read_bytes(const Container& container, std::int64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  {
    const py::gil_scoped_release released;
    bytes.resize(taken(container.read(offset, std::as_writable_bytes(std::span(bytes)))));
  }
  return {bytes};
}

py::list writers(const Container& container) {
  py::list all;
  for (const WriterReport& report : container.reports()) {
    all.append(py::make_tuple(report.name, report.entries, report.log_bytes, report.durable_bytes,
                              report.unplaced_bytes, report.dropped_bytes, report.missing_bytes,
                              report.index_bytes_lost, report.has_index, report.is_whole()));
  }
  return all;
}

py::list strangers(const Container& container) {
  py::list all;
  for (const std::string& name : container.strangers()) all.append(text_of(name));
  return all;
}

}  // namespace

void bind_logstore(py::module_& module) {
  py::class_<Container>(module, "LogContainer")
      .def(py::init([](const std::string& path) {
             const py::gil_scoped_release released;
             return taken(Container::open(path));
           }),
           py::arg("path"))
      .def_static("is_at", &Container::is_at, py::arg("path"))
      .def_property_readonly("size", [](const Container& c) { return c.map().size(); })
      .def_property_readonly("made_ns", [](const Container& c) { return c.description().made_ns; })
      .def_property_readonly("id", [](const Container& c) { return c.description().container_id; })
      .def_property_readonly("map_bytes", [](const Container& c) { return c.map().memory_bytes(); })
      .def_property_readonly("handle_bytes", &Container::handle_bytes)
      .def("writers", &writers)
      .def("strangers", &strangers)
      .def("read", &read_bytes, py::arg("offset"), py::arg("size"));
}
