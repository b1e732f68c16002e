// iotune._core: the native part of the Python package. python/iotune/core.py gives it types.
#include "python/bindings/bindings.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The native part of iotune: traces, patterns, the pattern database.";
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
  bind_limits(module);
  bind_logstore(module);
}
