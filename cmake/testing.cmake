# iotune_unit_test(name SOURCES a.cpp … [LIBS lib …] [ALONE a.cpp …])
# One GoogleTest program, one ctest unit.NAME with the label unit: what it prints says which of its
# tests failed. `make soak` builds and runs what lies below tests/unit with sanitizers, too.
function(iotune_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;ALONE" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main)
  iotune_joined(${name} ALONE ${ARG_ALONE})
  iotune_warnings(${name})
  iotune_sanitize(${name})
  add_test(NAME unit.${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 3000)
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
#
# By the system's interpreter: one of a virtual environment reads a file of its own at each start,
# which the trace then has.
find_program(IOTUNE_TEST_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT IOTUNE_TEST_PYTHON)
  set(IOTUNE_TEST_PYTHON ${Python3_EXECUTABLE})
endif()
function(iotune_run_test kind script)
  get_filename_component(stem ${script} NAME_WE)
  string(REPLACE "test_" "" stem ${stem})
  foreach(case ${ARGN})
    add_test(NAME ${kind}.${stem}.${case}
      COMMAND ${IOTUNE_TEST_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/run.py
        ${CMAKE_CURRENT_SOURCE_DIR}/${script}
        --build ${CMAKE_BINARY_DIR} --mpirun ${IOTUNE_MPIRUN} ${case})
    set_tests_properties(${kind}.${stem}.${case} PROPERTIES LABELS ${kind} TIMEOUT 180)
    if(NOT kind STREQUAL preload)  # ranks wait for each other on a core each
      set_tests_properties(${kind}.${stem}.${case} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endfunction()
