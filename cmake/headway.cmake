# Helpers that keep every folder's CMakeLists.txt to a few lines.
find_program(HEADWAY_CCACHE ccache)
if(HEADWAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are taken relative to the clone, so that a second clone finds what the first one built.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${HEADWAY_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(HEADWAY_MOLD mold)
if(HEADWAY_MOLD AND NOT HEADWAY_FUZZ)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)

add_library(headway_warnings INTERFACE)
target_compile_options(headway_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wno-sign-conversion -Werror=return-type -Werror=unused-result)

set(HEADWAY_SANITIZE "" CACHE STRING "address | thread | empty")
if(HEADWAY_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(HEADWAY_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()

# Headers that most files read are parsed once for all libraries and once for all tests: parsing them
# is most of the work of a build. Not where fuzzers are built: a file that forgets an include is found there.
set(HEADWAY_COMMON_HEADERS <algorithm> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional> <set>
    <span> <string> <string_view> <thread> <unordered_map> <variant> <vector> <fmt/format.h>)
set(HEADWAY_PCH_SOURCE ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
if(NOT HEADWAY_FUZZ)
  add_library(headway_precompiled STATIC ${HEADWAY_PCH_SOURCE})
  target_link_libraries(headway_precompiled PRIVATE fmt::fmt headway_warnings)
  target_precompile_headers(headway_precompiled PRIVATE ${HEADWAY_COMMON_HEADERS})
endif()

# headway_library(NAME SOURCES a.cc … DEPS x y): one static library for one folder under src/.
function(headway_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(headway_${name} STATIC ${ARG_SOURCES})
  target_include_directories(headway_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(headway_${name} PUBLIC ${ARG_DEPS} PRIVATE fmt::fmt headway_warnings)
  if(TARGET headway_precompiled)
    target_precompile_headers(headway_${name} REUSE_FROM headway_precompiled)
  endif()
endfunction()

# What tests are compiled with: their own code is not what takes time in them.
function(headway_test_target name)
  find_package(GTest REQUIRED)
  target_compile_options(${name} PRIVATE -O1)
  target_link_libraries(${name} PRIVATE headway_warnings fmt::fmt GTest::gmock GTest::gtest_main)
endfunction()

if(HEADWAY_TESTS)
  add_executable(headway_precompiled_test ${HEADWAY_PCH_SOURCE})
  headway_test_target(headway_precompiled_test)
  target_precompile_headers(headway_precompiled_test PRIVATE ${HEADWAY_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
endif()

# headway_test(NAME SOURCES a_test.cc … DEPS …): one GoogleTest binary, one ctest entry.
function(headway_test name)
  if(NOT HEADWAY_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)  # for a test that hangs; on a busy machine sanitizers take minutes
  endif()
  add_executable(${name} ${ARG_SOURCES})
  headway_test_target(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} headway_source_path)
  target_precompile_headers(${name} REUSE_FROM headway_precompiled_test)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()
