// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Text of other programs' traces, made strict. Profilers write control bytes into strings, bytes that are not UTF-8,
// and words that JSON does not know; strict readers then refuse the whole file.
namespace rangefinder::chrome {

/// Appends one JSON value. Strings become valid UTF-8 with everything escaped that must be; NaN and Infinity become
/// null (readers compare such arguments with numbers), other unknown words a string, numbers of another spelling a
/// string. False, and nothing appended, when brackets or quotes do not match, or at more than 128 levels.
bool append_clean_value(std::string& out, std::string_view raw);

/// The same for the members of an object without its braces: `"a": 1, "b": [2]`.
bool append_clean_members(std::string& out, std::string_view members);

struct RawMember {
  std::string key;
  std::string_view value;  ///< as it stands in the text
};

/// The members of an object, in order. False when it is none.
bool split_object(std::string_view object, std::vector<RawMember>& members);

/// What a raw value means as text: a string's content, else the token itself.
std::string text_of(std::string_view raw);

/// As append_json_string, and "</" as "<\/", so that no name ends a script element in a page that a trace is put into.
void append_quoted(std::string& out, std::string_view text);

}  // namespace rangefinder::chrome
