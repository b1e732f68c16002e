// One function for each part of the module; PatternDb and its settings are bind_patterndb.cpp's.
#pragma once

#include <pybind11/pybind11.h>

void bind_calls(pybind11::module_& module);
void bind_features(pybind11::module_& module);
void bind_gains(pybind11::module_& module);
void bind_import(pybind11::module_& module);
void bind_index(pybind11::module_& module);
void bind_limits(pybind11::module_& module);
void bind_logstore(pybind11::module_& module);
void bind_pattern_log(pybind11::module_& module);
void bind_order(pybind11::module_& module);
void bind_patterns(pybind11::module_& module);
void bind_predict(pybind11::module_& module);
void bind_streams(pybind11::module_& module);
void bind_trace(pybind11::module_& module);
void bind_patterndb(pybind11::module_& module);
