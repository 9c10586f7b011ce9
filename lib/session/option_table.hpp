// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/session_options.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::session {

/// How an option is written in a configuration.
enum class Kind : std::uint8_t { kText, kList, kSwitch, kCount, kDepth, kSize, kTime, kSignal, kChoice };

/// One option of a recording. Numbers are in the unit of the member; a choice is the number of its value.
struct Option {
  std::string_view key;     ///< in a configuration
  std::string_view member;  ///< of SessionOptions
  Kind kind = Kind::kText;

  std::int64_t least = 0;  ///< limits of a number
  std::int64_t most = 0;
  std::int64_t unit_ns = 0;                      ///< kTime: the member's unit
  std::int64_t on = 0;                           ///< kTime: what "on" stands for; 0: it is not a switch
  std::span<const std::string_view> words = {};  ///< kChoice
  char separator = '\0';                         ///< kList
  bool not_empty = false;                        ///< kText

  // Numbers of all kinds.
  std::int64_t (*get)(const SessionOptions&) = nullptr;
  void (*set)(SessionOptions&, std::int64_t) = nullptr;
  // kText, kList.
  std::string SessionOptions::*text = nullptr;
  std::vector<std::string> SessionOptions::*list = nullptr;

  std::string_view wanted = {};  ///< what a value has to be: "'x' is not ..."; empty: anything goes
};

/// All options that have a key of their own, in the order of the reference page.
std::span<const Option> option_table() noexcept;

/// Sets the option to what a configuration says; false where that is not `wanted`.
bool parse_option(const Option& option, std::string_view value, SessionOptions& options);
/// The option's value as a configuration says it.
///
/// Errors: kUnsupported for a text or name that a configuration cannot hold.
Result<std::string> print_option(const Option& option, const SessionOptions& options);
/// Whether two have the same value of the option.
bool same_option(const Option& option, const SessionOptions& a, const SessionOptions& b) noexcept;

/// Whether all options are within their limits.
Status check(const SessionOptions& options);

}  // namespace rangefinder::session
