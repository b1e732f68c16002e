# iotune_unit_test(name SOURCES a.cpp … [LIBS lib …] [SOAK])
# One GoogleTest program, each of its tests a ctest of its own with the label unit
# (or soak: only `make soak` runs those). Everything below tests/unit is also built
# and run with sanitizers by `make check`.
include(GoogleTest)
function(iotune_unit_test name)
  cmake_parse_arguments(ARG "SOAK" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main)
  list(LENGTH ARG_SOURCES source_count)
  if(source_count GREATER 3)  # fewer are compiled before the headers are
    iotune_precompile(${name} <gtest/gtest.h>)
  endif()
  iotune_warnings(${name})
  iotune_sanitize(${name})
  set(labels unit)
  if(ARG_SOAK)
    set(labels soak)
  endif()
  # PRE_TEST: the build does not run what it has just linked, so that a crash in
  # one program is a failed test and not a failed build.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${labels}" TIMEOUT 120)
endfunction()

# iotune_fuzz_test(name source libraries…): a libFuzzer target. The preset fuzz instruments the
# libraries, too (IOTUNE_SANITIZE).
function(iotune_fuzz_test name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${ARGN})
  iotune_warnings(${name})
  iotune_sanitize(${name})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

# iotune_run_test(kind script case…): a test KIND.STEM.CASE with the label `kind` for each case of
# a Python script that needs the standard library only; test_STEM.py is its name. tests/run.py
# starts it, so that it finds tests/support.
function(iotune_run_test kind script)
  get_filename_component(stem ${script} NAME_WE)
  string(REPLACE "test_" "" stem ${stem})
  foreach(case ${ARGN})
    add_test(NAME ${kind}.${stem}.${case}
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/run.py
        ${CMAKE_CURRENT_SOURCE_DIR}/${script}
        --build ${CMAKE_BINARY_DIR} --mpirun ${IOTUNE_MPIRUN} ${case})
    set_tests_properties(${kind}.${stem}.${case} PROPERTIES LABELS ${kind} TIMEOUT 180)
  endforeach()
endfunction()
