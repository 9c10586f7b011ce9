// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// What options take, checked with messages that say what is wanted.
namespace rangefinder::cli {

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& words);

/// One of these words.
CLI::Option* takes_one_of(CLI::Option* option, const std::vector<std::string>& words);
/// The words that the option takes; empty: anything. For the completion.
const std::vector<std::string>& words_of(const CLI::Option* option);

/// An option that takes one of some words, each of which stands for a value. `variable` outlives the parser.
template <typename Value>
CLI::Option* add_choice(CLI::App& verb, const std::string& name, Value& variable,
                        const std::vector<std::pair<std::string, Value>>& choices, const std::string& description) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  CLI::Option* option = verb.add_option_function<std::string>(
      name,
      [choices, &variable](const std::string& text) {
        for (const auto& [word, value] : choices)
          if (word == text) variable = value;
      },
      description);
  return takes_one_of(option, words);
}

/// A whole number.
CLI::Option* takes_whole_number(CLI::Option* option, std::uint64_t least, std::uint64_t most);
/// One that the option's variable, a Number, has room for.
template <typename Number>
CLI::Option* takes_whole_number(CLI::Option* option, std::uint64_t least) {
  return takes_whole_number(option, least, static_cast<std::uint64_t>(std::numeric_limits<Number>::max()));
}
CLI::Option* takes_number_of_at_least_0(CLI::Option* option);
CLI::Option* takes_number_above_0(CLI::Option* option);

/// The name of a file: anything but nothing.
CLI::Option* takes_file(CLI::Option* option);

}  // namespace rangefinder::cli
