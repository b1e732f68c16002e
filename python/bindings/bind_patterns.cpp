// Offset patterns of arrays. python/iotune/patterns.py gives them types and explains units.
#include <pybind11/pybind11.h>

#include <cstring>
#include <string>
#include <vector>

#include "analyzer/he2013/local_index.h"
#include "analyzer/nest_text.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using patterns::Extent;

// A one-dimensional array of int64, with any step.
std::vector<std::int64_t> numbers_of(const py::buffer& buffer, const char* what) {
  const py::buffer_info info = buffer.request();
  const bool is_int64 = info.itemsize == 8 && (info.format == "q" || info.format == "l");
  if (info.ndim != 1 || !is_int64) {
    throw CoreError(std::string(what) + " must be one dimension of 64-bit integers");
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(info.shape[0]));
  const char* at = static_cast<const char*>(info.ptr);
  for (std::int64_t& number : numbers) {
    std::memcpy(&number, at, sizeof number);
    at += info.strides[0];
  }
  return numbers;
}

std::vector<Extent> accesses_of(const py::buffer& offsets, const py::buffer& lengths) {
  const std::vector<std::int64_t> offset = numbers_of(offsets, "offsets");
  const std::vector<std::int64_t> length = numbers_of(lengths, "lengths");
  if (offset.size() != length.size()) throw CoreError("offsets and lengths differ in number");
  std::vector<Extent> accesses;
  accesses.reserve(offset.size());
  for (std::size_t k = 0; k < offset.size(); ++k) {
    if (length[k] < 0) throw CoreError("length " + std::to_string(k) + " is negative");
    accesses.push_back({offset[k], length[k]});
  }
  return accesses;
}

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
