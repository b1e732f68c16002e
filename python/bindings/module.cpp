// iotune._core: the native part of the Python package. python/iotune/_core.pyi gives it types.
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "patterndb/store/result.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"

namespace {

namespace py = pybind11;

void raise(const std::string& text) {
  const py::object line = py::str(" ").attr("join")(text_of(text).attr("split")());
  const py::object error = py::module_::import("iotune.errors").attr("Error");
  PyErr_SetObject(error.ptr(), line.ptr());
}

// A failure is iotune.Error, a text of one line; Python's own exceptions stay what they are.
void as_error(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const py::builtin_exception&) {
    throw;
  } catch (const iotune::patterndb::Fault& fault) {
    raise(fault.message);
  } catch (const nlohmann::json::exception& problem) {
    raise(problem.what());
  } catch (const std::runtime_error& problem) {
    raise(problem.what());
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The native part of iotune: traces, patterns, the pattern database.";
  py::register_local_exception_translator(&as_error);
  bind_trace(module);
  bind_calls(module);
  bind_import(module);
  bind_patterndb(module);
  bind_features(module);
  bind_gains(module);
  bind_patterns(module);
  bind_index(module);
  bind_pattern_log(module);
  bind_predict(module);
  bind_streams(module);
  bind_order(module);
  bind_limits(module);
  bind_logstore(module);
}
