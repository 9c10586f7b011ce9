# SPDX-License-Identifier: MIT
# Makes the two constant parts of the page from the modules beside this file:
#   cmake -D OUTPUT=FOLDER -P bundle_page.cmake
# writes page_head.html, page_tail.html and page_parts.hpp (the same as bytes) into FOLDER. A module is a file of its
# own for tests and readers; here each becomes a function that returns what it exports, lowest first, so that the page
# needs no request. For that, an import is one line, `import {a, b} from './module.mjs';`, and an export stands before a
# function, a class or a const; tests/exporter/html/page checks it.
cmake_minimum_required(VERSION 3.25)

set(modules
  bytes blocks units slice_row time_view timeline_model search range_tree step_bars roofline_plot
  dom colors timeline_layout slice_strips timeline_painter timeline_input timeline_overview timeline_details timeline_section
  head_section steps_section ranges_section roofline_section memory_section ranks_section text_sections main)

if(NOT OUTPUT)
  message(FATAL_ERROR "say where to: cmake -D OUTPUT=FOLDER -P bundle_page.cmake")
endif()

# Base64 of a hash of 32 bytes that is given in hexadecimal: what content security policies use.
function(base64_of_sha256 hex result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  foreach(group RANGE 10)
    math(EXPR at "${group} * 6")
    string(SUBSTRING "${hex}0000" ${at} 6 digits)
    math(EXPR bits "0x${digits}")
    foreach(shift 18 12 6 0)
      math(EXPR place "(${bits} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${place} 1 letter)
      string(APPEND text "${letter}")
    endforeach()
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)  # 11 groups are 33 bytes: the last character is of the padding
  set(${result} "${text}=" PARENT_SCOPE)
endfunction()

function(write_bytes variable file output)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(APPEND "${output}" "inline constexpr unsigned char ${variable}[] = {\n${bytes}};\n")
endfunction()

set(script "'use strict';\n(() => {\n")
foreach(module IN LISTS modules)
  file(READ "${CMAKE_CURRENT_LIST_DIR}/${module}.mjs" text)
  string(REGEX MATCHALL "\nexport (async )?[a-z]+ [A-Za-z0-9_]+" exports "${text}")
  list(TRANSFORM exports REPLACE ".* " "")
  list(JOIN exports ", " exports)
  string(REGEX REPLACE "\nimport {([^}]*)} from '\\./([a-z_]+)\\.mjs';" "\nconst {\\1} = from_\\2;" text "${text}")
  string(REPLACE "\nexport " "\n" text "${text}")
  string(APPEND script "const from_${module} = (() => {\n${text}return {${exports}};\n})();\n")
endforeach()
string(APPEND script "from_main.show_page();\n})();\n")
file(READ "${CMAKE_CURRENT_LIST_DIR}/page.css" style)

foreach(part script style)
  foreach(word "</${part}" "<!--")
    string(FIND "${${part}}" "${word}" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "the ${part} of the page has `${word}` in it, which ends it or hides what follows")
    endif()
  endforeach()
  string(SHA256 hex "${${part}}")
  base64_of_sha256("${hex}" ${part}_hash)
endforeach()

set(policy "default-src 'none'; script-src 'sha256-${script_hash}'; style-src 'sha256-${style_hash}'; base-uri 'none'; form-action 'none'")
string(APPEND policy "; require-trusted-types-for 'script'; trusted-types 'none'")
set(head "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
string(APPEND head "<meta http-equiv=\"Content-Security-Policy\" content=\"${policy}\">\n")
string(APPEND head "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
string(APPEND head "<title>rangefinder report</title>\n<style>${style}</style>\n</head>\n<body>\n")
string(APPEND head "<noscript>This page draws itself with a script, which this browser does not run.</noscript>\n<main id=\"page\"></main>\n")

file(MAKE_DIRECTORY "${OUTPUT}")
file(WRITE "${OUTPUT}/page_head.html" "${head}")
file(WRITE "${OUTPUT}/page_tail.html" "<script>${script}</script>\n</body>\n</html>\n")
set(parts "${OUTPUT}/page_parts.hpp.new")
file(WRITE "${parts}" "// SPDX-License-Identifier: MIT\n// Made by lib/exporter/html/page/bundle_page.cmake.\n#pragma once\n\nnamespace rangefinder::html {\n\n")
write_bytes(kPageHead "${OUTPUT}/page_head.html" "${parts}")
write_bytes(kPageTail "${OUTPUT}/page_tail.html" "${parts}")
file(APPEND "${parts}" "\n}  // namespace rangefinder::html\n")
file(RENAME "${parts}" "${OUTPUT}/page_parts.hpp")
