// Offset patterns of arrays. python/iotune/patterns/ gives them types and explains units.
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "analyzer/baselines/he2013/local_index.h"
#include "analyzer/streams/term_text.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using patterns::Extent;

py::tuple find_nests(const py::buffer& offsets, const py::buffer& lengths) {
  const std::vector<Extent> accesses = accesses_of(offsets, lengths);
  analyzer::Nests found;
  {
    const py::gil_scoped_release released;
    found = analyzer::find_nests(accesses);
  }
  py::list units;
  for (const analyzer::NestTerm& term : found.terms) {
    units.append(py::make_tuple(term.text, term.accesses));
  }
  return py::make_tuple(units, found.encoded_bytes);
}

std::string texts(const std::vector<he2013::Unit>& units) {
  std::string all;
  for (const he2013::Unit& unit : units) {
    if (!all.empty()) all += ' ';
    all += unit.text();
  }
  return all;
}

py::tuple find_he2013(const py::buffer& offsets, const py::buffer& lengths, unsigned window) {
  if (window == 0) throw CoreError("the window must be 1 or more");
  const std::vector<Extent> accesses = accesses_of(offsets, lengths);
  he2013::LocalIndex index(0, {.window = window});
  {
    const py::gil_scoped_release released;
    for (const Extent& access : accesses) index.add(access);
    index.close();
  }
  py::list units;
  index.for_each(
      [&](const he2013::LocalEntry& entry) {
        const std::string text = entry.logical.text() + " lengths " + texts(entry.lengths);
        units.append(py::make_tuple(text, entry.logical.count));
      },
      [&](const he2013::RawEntry& raw) {
        const he2013::Unit offset{raw.logical, {}, 0, 1};
        const he2013::Unit length{raw.length, {}, 0, 1};
        units.append(py::make_tuple(offset.text() + " lengths " + length.text(), 1));
      });
  return py::make_tuple(units, index.memory_bytes());
}

}  // namespace

void bind_patterns(py::module_& module) {
  // Both: a list of (text, number of accesses) and the bytes that the representation takes.
  module.def("find_nests", &find_nests, py::arg("offsets"), py::arg("lengths"));
  module.def("find_he2013", &find_he2013, py::arg("offsets"), py::arg("lengths"),
             py::arg("window"));
}
