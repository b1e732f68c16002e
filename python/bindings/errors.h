// What all parts of the module share: its exception, and texts of programs.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

// iotune.Error in Python, as every std::runtime_error: one line that names the file.
struct CoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of the rooms' own kinds of Result.
template <typename Result>
std::decay_t<decltype(*std::declval<Result&>())> taken(Result result) {
  if (!result) throw CoreError(result.error().text());
  return std::move(*result);
}

// Paths and program texts are bytes: what is not UTF-8 becomes surrogates, as os.fsdecode does.
inline pybind11::str text_of(const std::string& bytes) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::str>(text);
}
