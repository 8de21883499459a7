# Two functions make every target of the house, so that warnings, precompiled headers and labels are the same everywhere.

add_library(onceproof_options INTERFACE)
target_compile_options(onceproof_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
target_include_directories(onceproof_options INTERFACE ${CMAKE_SOURCE_DIR})

# onceproof_library(NAME SOURCES a.cc ... [PUBLIC lib ...] [PRIVATE lib ...]): static target onceproof_NAME, alias onceproof::NAME.
function(onceproof_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(onceproof_${name} STATIC ${arg_SOURCES})
  add_library(onceproof::${name} ALIAS onceproof_${name})
  target_link_libraries(onceproof_${name} PUBLIC ${arg_PUBLIC} PRIVATE onceproof_options ${arg_PRIVATE})
  target_include_directories(onceproof_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  onceproof_precompile(onceproof_${name})
endfunction()

# nlohmann/json costs 2.5 s in every file that includes it: it is compiled once, here.
function(onceproof_precompile target)
  if(NOT TARGET onceproof_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/onceproof_pch.cc "")
    add_library(onceproof_pch STATIC ${CMAKE_BINARY_DIR}/onceproof_pch.cc)
    target_link_libraries(onceproof_pch PRIVATE onceproof_options nlohmann_json::nlohmann_json fmt::fmt)
    target_precompile_headers(onceproof_pch PRIVATE
      <chrono> <functional> <map> <memory> <optional> <string> <string_view> <variant> <vector>
      <fmt/format.h> <nlohmann/json.hpp>)
  endif()
  target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json fmt::fmt)
  target_precompile_headers(${target} REUSE_FROM onceproof_pch)
endfunction()

# onceproof_tests(FOLDER SOURCES a_test.cc ... [LIBRARIES lib ...] [LABELS unit ...]): one binary per folder.
function(onceproof_tests folder)
  if(NOT ONCEPROOF_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${folder}_tests ${arg_SOURCES})
  target_link_libraries(${folder}_tests PRIVATE onceproof_options ${arg_LIBRARIES} GTest::gtest_main)
  target_compile_definitions(${folder}_tests PRIVATE
    ONCEPROOF_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ONCEPROOF_BINARY="${CMAKE_BINARY_DIR}/onceproof")
  onceproof_precompile(${folder}_tests)
  include(GoogleTest)
  gtest_discover_tests(${folder}_tests DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
endfunction()

# onceproof_bench(FOLDER SOURCES a_bench.cc ... [LIBRARIES lib ...]): the program FOLDER_bench, which ./dev bench runs.
function(onceproof_bench folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${folder}_bench ${arg_SOURCES})
  target_link_libraries(${folder}_bench PRIVATE onceproof_options ${arg_LIBRARIES} benchmark::benchmark_main)
  onceproof_precompile(${folder}_bench)
endfunction()
