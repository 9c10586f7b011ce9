# Helpers that every CMakeLists.txt here uses: rooms, tests, compile options.

# Options for what is built here, never for those who link the library.
add_library(rangefinder_options INTERFACE)
target_compile_features(rangefinder_options INTERFACE cxx_std_20)
target_compile_options(rangefinder_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wcast-align -Wundef -Wno-missing-field-initializers -fstack-protector-strong
  # GCC 12 warns of overlaps inside std::string that cannot be (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # GCC collects its garbage first at 1 GiB, not at 128 MiB: a seventh less time a file.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
if(NOT RANGEFINDER_SANITIZE)
  target_compile_options(rangefinder_options INTERFACE $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
endif()
# Compiling with less optimisation takes half the time; for code whose speed does not matter.
set(rangefinder_quick_to_compile -Og -g1)
if(RANGEFINDER_SANITIZE)
  set(rangefinder_quick_to_compile -O0 -g1)
elseif(CMAKE_BUILD_TYPE STREQUAL Debug)
  set(rangefinder_quick_to_compile)  # as the rest of it
endif()
target_link_options(rangefinder_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# The sanitizers' runtime, for everything that is linked here.
add_library(rangefinder_sanitizer_runtime INTERFACE)
if(RANGEFINDER_SANITIZE)
  string(REPLACE "," ";" sanitizers ${RANGEFINDER_SANITIZE})
  target_compile_options(rangefinder_options INTERFACE
    -fsanitize=${RANGEFINDER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(RANGEFINDER_SANITIZE_WITHOUT)
    target_compile_options(rangefinder_options INTERFACE -fno-sanitize=${RANGEFINDER_SANITIZE_WITHOUT})
  endif()
  target_link_options(rangefinder_sanitizer_runtime INTERFACE -fsanitize=${RANGEFINDER_SANITIZE})
  target_link_libraries(rangefinder_options INTERFACE rangefinder_sanitizer_runtime)
  # Compilers do not agree on how to ask.
  target_compile_definitions(rangefinder_options INTERFACE
    $<$<IN_LIST:address,${sanitizers}>:RANGEFINDER_ADDRESS_SANITIZER> $<$<IN_LIST:thread,${sanitizers}>:RANGEFINDER_THREAD_SANITIZER>)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Functions of vendors' libraries are called by declarations of our own.
    target_compile_options(rangefinder_options INTERFACE -fno-sanitize=function)
    # Shared, as GCC has it: tests have an allocator of their own, and load libraries late. Fuzzers say that they do not.
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} --print-runtime-dir OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    target_link_options(rangefinder_sanitizer_runtime INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:RANGEFINDER_FUZZER>>>:-shared-libsan> -Wl,-rpath,${runtime})
  endif()
endif()

# rangefinder_compile_together(TARGET): with RANGEFINDER_UNITY, its files in few translation units. ./dev test --all
# compiles each file alone.
function(rangefinder_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RANGEFINDER_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  # GCC takes each joined file for a header.
  target_compile_options(${target} PRIVATE $<$<AND:$<BOOL:${RANGEFINDER_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endfunction()

# Rooms that tests spend their time in. Optimised code with clang's sanitizers takes four times as long to compile, so the
# others are not optimised with them.
set(rangefinder_rooms_optimised_with_sanitizers base buffer capture exporter_chrome format importer_capture importer_kineto
  importer_nsight projection timeline)

# rangefinder_room(NAME SOURCES a.cpp ... [USES room ...] [LINKS target ...])
#
# A room is an object library. USES names the rooms whose headers it may include; tests/layering fails on an include
# that goes around them. LINKS names libraries from outside. A room becomes part of the shared library unless it says
# SEPARATE.
function(rangefinder_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SEPARATE" "" "SOURCES;USES;LINKS")
  set(target rangefinder_${name})
  add_library(${target} OBJECT ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${target} PRIVATE rangefinder_options)
  rangefinder_compile_together(${target})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # GCC warns inside of precompiled system headers
    set(precompiled rangefinder_base)
    if(RANGEFINDER_SANITIZE AND NOT name IN_LIST rangefinder_rooms_optimised_with_sanitizers)
      target_compile_options(${target} PRIVATE -O0)
      set(precompiled rangefinder_clock)  # headers can be shared where code is optimised alike
    endif()
    if(target STREQUAL precompiled)
      target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <cstdio> <cstdlib>
        <cstring> <deque> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view>
        <thread> <tuple> <unordered_map> <utility> <vector>)
    else()
      target_precompile_headers(${target} REUSE_FROM ${precompiled})
    endif()
  endif()
  if(RANGEFINDER_BUILD_FUZZERS AND RANGEFINDER_FUZZ_SEARCH)  # fuzzers follow the branches that are taken
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(ARG_LINKS)
    target_link_libraries(${target} PRIVATE ${ARG_LINKS})
    set_property(GLOBAL APPEND PROPERTY RANGEFINDER_LINKS_${name} ${ARG_LINKS})
  endif()
  foreach(room IN LISTS ARG_USES)
    target_link_libraries(${target} PUBLIC rangefinder_${room})
  endforeach()
  if(NOT ARG_SEPARATE)
    set_property(GLOBAL APPEND PROPERTY RANGEFINDER_ROOMS ${name})
  endif()
endfunction()

# rangefinder_shared_library(TARGET [MAP]): what all libraries that we install have in common. MAP: what it exports.
function(rangefinder_shared_library target)
  set(map ${PROJECT_SOURCE_DIR}/cmake/rangefinder.map)
  if(ARGN)
    set(map ${ARGN})
  endif()
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${map})
  if(RANGEFINDER_ONE_FILE_LIBRARIES)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION_MAJOR})  # the file has the name that is loaded
  endif()
  # nodelete: CUPTI, NVTX, LibTorch and atexit keep pointers into the library, so dlclose must not unmap it.
  target_link_options(${target} PRIVATE
    -Wl,-z,nodelete -Wl,--version-script=${map})
  if(NOT RANGEFINDER_SANITIZE)  # a sanitizer's runtime is found when the program is linked
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# rangefinder_test(NAME SOURCES a_test.cpp ... [LINKS target ...] [KINDS property fault ...] [LIKE target])
#
# LIKE target: for tests of code that uses LibTorch, with the compile options and the precompiled header of that target.
#
# One executable a room. It is registered once as `unit` for the test cases without a kind tag, and once for each of
# KINDS for the cases that carry it ([property], [golden], [fault], [data], [slow], [gpu]); each run fails when it matches
# no test case. A run that prints "SKIPPED:" and then passes counts as skipped.
function(rangefinder_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "NO_UNIT;AS_USERS_LINK" "LIKE" "SOURCES;LINKS;KINDS")
  set(target ${name}_test)
  string(REPLACE "/" "_" target ${target})
  add_executable(${target} ${ARG_SOURCES})
  rangefinder_compile_together(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE RANGEFINDER_SHARED_DEFAULT="${PROJECT_SOURCE_DIR}/../shared")
  set(library rangefinder_test_support)
  if(ARG_AS_USERS_LINK)
    set(library rangefinder::rangefinder)
  endif()
  target_link_libraries(${target} PRIVATE ${library} rangefinder_test_main ${ARG_LINKS})
  if(ARG_LIKE)
    target_precompile_headers(${target} REUSE_FROM ${ARG_LIKE})
  else()
    target_link_libraries(${target} PRIVATE rangefinder_options)
    target_compile_options(${target} PRIVATE ${rangefinder_quick_to_compile})  # what is tested stays optimised
    if(NOT ARG_AS_USERS_LINK)  # LibTorch has macros of Catch2's names
      target_precompile_headers(${target} REUSE_FROM rangefinder_test_support)
    endif()
  endif()
  set(all_kinds property golden fault data slow gpu)
  string(REPLACE ";" "]~[" without "~[${all_kinds}]")
  set(common $<$<BOOL:${RANGEFINDER_CATCH_NO_TESTS}>:${RANGEFINDER_CATCH_NO_TESTS}>)
  set(environment "RANGEFINDER_TEST_DATA=${PROJECT_SOURCE_DIR}/tests/data")
  if(NOT ARG_NO_UNIT)
    add_test(NAME ${name}.unit COMMAND ${target} ${RANGEFINDER_CATCH_NO_TESTS} "${without}")
    set_tests_properties(${name}.unit PROPERTIES LABELS unit)
    list(APPEND registered ${name}.unit)
  endif()
  foreach(kind IN LISTS ARG_KINDS)
    add_test(NAME ${name}.${kind} COMMAND ${target} ${RANGEFINDER_CATCH_NO_TESTS} "[${kind}]")
    set_tests_properties(${name}.${kind} PROPERTIES LABELS ${kind})
    list(APPEND registered ${name}.${kind})
  endforeach()
  set_tests_properties(${registered} PROPERTIES
    ENVIRONMENT "${environment}" SKIP_REGULAR_EXPRESSION "SKIPPED:.*All tests passed \\([^\n]*\\)[ \n]*$" TIMEOUT 600)
endfunction()

function(rangefinder_note text)
  set_property(GLOBAL APPEND PROPERTY RANGEFINDER_NOTES "${text}")
endfunction()

function(rangefinder_print_summary)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  get_property(notes GLOBAL PROPERTY RANGEFINDER_NOTES)
  message(STATUS "rangefinder ${PROJECT_VERSION} (${CMAKE_BUILD_TYPE})")
  foreach(note IN LISTS notes)
    message(STATUS "  ${note}")
  endforeach()
endfunction()
