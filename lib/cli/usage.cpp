// SPDX-License-Identifier: MIT
#include "cli/usage.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace rangefinder::cli {
namespace {

const CLI::App* verb_named(const CLI::App& app, std::string_view name) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (verb->get_name() == name) return verb;
  return nullptr;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!verb->get_group().empty()) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  // Dashes are alike in all options, and would make any two of them near.
  const auto letters = [](std::string_view name) {
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
  };
  std::vector<std::string_view> candidates;
  for (const std::string& name : names) candidates.push_back(letters(name));
  const std::string_view nearest = base::nearest(letters(word), candidates);
  if (nearest.empty()) return {};
  const auto at = std::find(candidates.begin(), candidates.end(), nearest) - candidates.begin();
  return "; did you mean " + names[static_cast<std::size_t>(at)] + "?";
}

bool has_option(const CLI::App& app, std::string_view name) {
  const std::vector<std::string> names = option_names(app);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// The first word that the verb does not take. The parser names them all, the last one first.
std::string unexpected(const CLI::App& app, const CLI::App& verb, int argc, const char* const* argv, int first) {
  for (int i = first; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    const std::string name(word.substr(0, word.find('=')));
    const bool bundle = word.size() > 1 && word[0] == '-' && word[1] != '-' && has_option(verb, word.substr(0, 2));
    if (name.size() < 2 || name[0] != '-' || has_option(verb, name) || bundle) continue;
    if (has_option(app, name)) return name + " belongs to no command: rangefinder " + name;
    return "unknown option " + name + suggestion(name, option_names(verb));
  }
  const std::vector<std::string> rest = verb.remaining();
  return rest.empty() ? "more arguments than it takes" : "unexpected argument " + rest.front();
}

/// The parser's own words are for who wrote the parser. Which option it is about stands in front of them.
std::string misused(const CLI::App& verb, const CLI::ParseError& error, int argc, const char* const* argv, int first) {
  std::string words = error.what();
  const CLI::Option* option = nullptr;
  for (const CLI::Option* each : verb.get_options())
    if (words.find(each->get_name()) != std::string::npos && each->nonpositional() &&
        (option == nullptr || each->get_name().size() > option->get_name().size()))
      option = each;
  if (option == nullptr) return words;
  const std::string name = option->get_name();
  if (option->get_expected_max() == 0) return name + " takes no value";
  const auto times = std::count_if(argv + first, argv + argc, [&](std::string_view word) {
    return option->check_name(std::string(word.substr(0, word.find('='))));
  });
  if (times > 1) return name + " is given " + std::to_string(times) + " times";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return name + " needs a value: " + name + " " + option->get_type_name();
  return words;
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
  // As far as the words name commands: `bench` has some of its own.
  const CLI::App* verb = &app;
  std::string path;
  int at = 1;
  for (; at < argc; ++at) {
    const CLI::App* next = verb_named(*verb, argv[at]);
    if (next == nullptr) break;
    path += (path.empty() ? "" : " ") + next->get_name();
    verb = next;
  }
  const std::string_view word = at < argc ? argv[at] : "";
  const std::vector<std::string> commands = verb_names(*verb);
  const std::string help = " (see rangefinder " + (path.empty() ? "" : path + " ") + "--help)";
  const std::string where = path.empty() ? "" : path + ": ";
  if (!commands.empty()) {
    if (word.empty()) return where + "which command? One of " + listed(commands) + help;
    if (word[0] != '-') return where + "no command " + std::string(word) + suggestion(word, commands) + help;
    return where + unexpected(app, *verb, argc, argv, at) + help;
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return where + unexpected(app, *verb, argc, argv, at) + help;
  const bool is_misuse = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr ||
                         dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  return where + (is_misuse ? misused(*verb, error, argc, argv, at) : error.what()) + help;
}

}  // namespace rangefinder::cli
