# Helpers that keep every folder's CMakeLists.txt to a few lines.
find_program(HEADWAY_CCACHE ccache)
if(HEADWAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are taken relative to the clone, so that a second clone finds what the first one built.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${HEADWAY_CCACHE})
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

# headway_library(NAME SOURCES a.cc … DEPS x y): one static library for one folder under src/.
function(headway_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(headway_${name} STATIC ${ARG_SOURCES})
  target_include_directories(headway_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(headway_${name} PUBLIC ${ARG_DEPS} PRIVATE headway_warnings)
endfunction()

# headway_test(NAME SOURCES a_test.cc … DEPS …): one GoogleTest binary, one ctest entry.
function(headway_test name)
  if(NOT HEADWAY_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} headway_source_path headway_warnings GTest::gmock
                        GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()
