// SPDX-License-Identifier: MIT
// Values of options as text, by kind; which option has which kind and limits stands in the table.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "session/option_table.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <limits>
#include <optional>
#include <utility>

namespace rangefinder::session {
namespace {

using std::string_view;

struct Unit {
  string_view suffix;
  std::int64_t factor;
};

// Largest first: the first one that divides a number is the one to print it with.
constexpr Unit kCounts[] = {{"", 1}};
constexpr Unit kSizes[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1},
                           {"G", 1 << 30},   {"M", 1 << 20},   {"K", 1 << 10}};
// In nanoseconds; without a unit, milliseconds.
constexpr Unit kTimes[] = {{"min", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1},
                           {"", 1'000'000}};

std::span<const Unit> units_of(Kind kind) noexcept {
  return kind == Kind::kSize ? std::span<const Unit>(kSizes)
                             : (kind == Kind::kTime ? std::span<const Unit>(kTimes) : std::span<const Unit>(kCounts));
}

/// A whole number with one of the suffixes; nothing when it is not one, or does not fit.
std::optional<std::int64_t> parse_number(string_view text, std::span<const Unit> units) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    std::int64_t product = 0;
    if (suffix == unit.suffix && !__builtin_mul_overflow(number, unit.factor, &product)) return product;
  }
  return std::nullopt;
}

std::string print_number(std::int64_t number, std::span<const Unit> units) {
  if (number == 0) return "0";
  const Unit& unit = *std::find_if(units.begin(), units.end(), [&](const Unit& u) { return number % u.factor == 0; });
  return std::to_string(number / unit.factor).append(unit.suffix);
}

std::optional<bool> parse_switch(string_view text) {
  for (const string_view on : {"", "on", "1", "true", "yes", "auto"}) {
    if (text == on) return true;
  }
  for (const string_view off : {"off", "0", "false", "no"}) {
    if (text == off) return false;
  }
  return std::nullopt;
}

constexpr std::pair<string_view, int> kSignals[] = {{"none", 0}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};

std::optional<std::int64_t> parse_signal(string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const auto& [name, number] : kSignals) {
    if (name == text) return number;
  }
  return parse_number(text, kCounts);
}

/// Rounded up: a time that is not 0 does not become 0.
std::optional<std::int64_t> parse_time(const Option& option, string_view text) {
  if (option.on != 0) {
    if (const std::optional<bool> on = parse_switch(text)) return *on ? option.on : 0;
  }
  const std::optional<std::int64_t> ns = parse_number(text, kTimes);
  if (!ns) return std::nullopt;
  return *ns / option.unit_ns + (*ns % option.unit_ns > 0 ? 1 : 0);
}

std::optional<std::int64_t> parse_choice(const Option& option, string_view text) {
  const auto word = std::find(option.words.begin(), option.words.end(), text);
  return word != option.words.end() ? std::optional<std::int64_t>(word - option.words.begin()) : std::nullopt;
}

std::optional<std::int64_t> parse(const Option& option, string_view text) {
  switch (option.kind) {
    case Kind::kSwitch:
      return parse_switch(text);
    case Kind::kSignal:
      return parse_signal(text);
    case Kind::kChoice:
      return parse_choice(option, text);
    case Kind::kTime:
      return parse_time(option, text);
    default:
      return parse_number(text, units_of(option.kind));
  }
}

/// Any number, also one outside of the limits.
std::string print_number_option(const Option& option, std::int64_t number) {
  switch (option.kind) {
    case Kind::kSwitch:
      return number != 0 ? "on" : "off";
    case Kind::kChoice:
      if (number >= 0 && number <= option.most) return std::string(option.words[static_cast<std::size_t>(number)]);
      break;
    case Kind::kSignal:
      for (const auto& [name, signal] : kSignals) {
        if (signal == number) return std::string(name);
      }
      break;
    case Kind::kTime: {
      std::int64_t ns = 0;
      if (!__builtin_mul_overflow(number, option.unit_ns, &ns)) return print_number(ns, kTimes);
      return std::to_string(number).append(option.unit_ns == 1 ? "ns" : "ms");
    }
    default:
      break;
  }
  return print_number(number, units_of(option.kind));
}

Result<std::string> print_list(const Option& option, const std::vector<std::string>& list) {
  for (const std::string& name : list) {
    if (name.empty() || name.find(option.separator) != std::string::npos)
      return Error(ErrorCode::kUnsupported, std::string(option.member) + ": a configuration cannot hold the name '" +
                                                base::printable(name) + "': it separates names by " + option.separator);
  }
  return base::joined(list, string_view(&option.separator, 1));
}

bool within_limits(const Option& option, std::int64_t number) noexcept {
  return number >= option.least && number <= option.most;
}

}  // namespace

bool parse_option(const Option& option, string_view value, SessionOptions& options) {
  if (option.list != nullptr) {
    std::vector<std::string> names = base::split(value, option.separator);
    if (std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.empty(); })) return false;
    options.*option.list = std::move(names);
    return true;
  }
  if (option.text != nullptr) {
    if (option.not_empty && value.empty()) return false;
    options.*option.text = value;
    return true;
  }
  const std::optional<std::int64_t> number = parse(option, value);
  if (!number || !within_limits(option, *number)) return false;
  option.set(options, *number);
  return true;
}

Result<std::string> print_option(const Option& option, const SessionOptions& options) {
  if (option.get != nullptr) return print_number_option(option, option.get(options));
  Result<std::string> text =
      option.list != nullptr ? print_list(option, options.*option.list) : Result<std::string>(options.*option.text);
  if (text.ok() && text->find(',') != std::string::npos)
    return Error(ErrorCode::kUnsupported, std::string(option.member) + ": a configuration cannot hold '" +
                                              base::printable(*text) + "': it has a comma");
  return text;
}

bool same_option(const Option& option, const SessionOptions& a, const SessionOptions& b) noexcept {
  if (option.get != nullptr) return option.get(a) == option.get(b);
  return option.list != nullptr ? a.*option.list == b.*option.list : a.*option.text == b.*option.text;
}

Status check(const SessionOptions& options) {
  for (const Option& option : option_table()) {
    if (option.get == nullptr) continue;
    const std::int64_t number = option.get(options);
    if (!within_limits(option, number))
      return Error(ErrorCode::kInvalidArgument, std::string(option.member) + ": '" +
                                                    print_number_option(option, number) + "' is not " +
                                                    std::string(option.wanted));
  }
  return {};
}

}  // namespace rangefinder::session
