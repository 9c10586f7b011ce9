// SPDX-License-Identifier: MIT
#include "cli/values.hpp"

#include "base/number.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace rangefinder::cli {
namespace {

std::map<const CLI::Option*, std::vector<std::string>>& all_words() {
  static std::map<const CLI::Option*, std::vector<std::string>> words;
  return words;
}

std::string quoted_value(const std::string& text) { return "\"" + text + "\""; }

CLI::Option* check(CLI::Option* option, const std::function<std::string(const std::string&)>& wrong_with) {
  // Without a description, which the help would show behind the type's name.
  return option->check(CLI::Validator([wrong_with](std::string& text) { return wrong_with(text); }, ""));
}

}  // namespace

std::string alternatives(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

CLI::Option* takes_one_of(CLI::Option* option, const std::vector<std::string>& words) {
  all_words()[option] = words;
  return check(option, [words](const std::string& text) {
    const bool known = std::find(words.begin(), words.end(), text) != words.end();
    return known ? std::string() : quoted_value(text) + " is none of " + alternatives(words);
  });
}

const std::vector<std::string>& words_of(const CLI::Option* option) {
  static const std::vector<std::string> none;
  const auto found = all_words().find(option);
  return found == all_words().end() ? none : found->second;
}

CLI::Option* takes_whole_number(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  return check(option, [=](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::invalid_argument || stop != end || (error == std::errc() && number < least))
      return quoted_value(text) + " is not a whole number of at least " + std::to_string(least);
    if (error != std::errc() || number > most)
      return quoted_value(text) + " is too large: at most " + std::to_string(most);
    return {};
  });
}

CLI::Option* takes_number_of_at_least_0(CLI::Option* option) {
  return check(option, [](const std::string& text) {
    const auto number = base::number_in<double>(text);
    return number && *number >= 0 ? std::string() : quoted_value(text) + " is not a number of at least 0";
  });
}

CLI::Option* takes_number_above_0(CLI::Option* option) {
  return check(option, [](const std::string& text) {
    const auto number = base::number_in<double>(text);
    return number && *number > 0 ? std::string() : quoted_value(text) + " is not a number above 0";
  });
}

CLI::Option* takes_file(CLI::Option* option) {
  return check(option, [](const std::string& text) { return text.empty() ? "expected a file" : std::string(); });
}

}  // namespace rangefinder::cli
