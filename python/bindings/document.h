// A document, as objects in Python and as JSON text here.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

struct Document {
  std::string text;
};

namespace pybind11::detail {

template <>
struct type_caster<Document> {
  PYBIND11_TYPE_CASTER(Document, const_name("Any"));
  bool load(handle from, bool /*convert*/) {
    const dict members(reinterpret_borrow<object>(from));
    value.text = module_::import("json").attr("dumps")(members).cast<std::string>();
    return true;
  }
  static handle cast(const Document& document, return_value_policy /*policy*/, handle /*parent*/) {
    return module_::import("json").attr("loads")(document.text).release();
  }
};

}  // namespace pybind11::detail
