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
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view nearest = base::nearest(word, candidates);
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// The first word that the verb does not take. The parser names them all, the last one first.
std::string unexpected(const CLI::App& verb, const std::string& where, int argc, const char* const* argv, int first) {
  const std::vector<std::string> names = option_names(verb);
  for (int i = first; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view name = word.substr(0, word.find('='));
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    const bool bundle = word.size() > 1 && word[0] == '-' && word[1] != '-' &&
                        std::find(names.begin(), names.end(), word.substr(0, 2)) != names.end();
    if (name.size() < 2 || name[0] != '-' || known || bundle) continue;
    return where + "unknown option " + std::string(name) + suggestion(name, names);
  }
  return where + "more arguments than it takes";
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  const CLI::App* const verb = verb_named(app, first);
  const std::string help =
      " (see rangefinder " + (verb != nullptr ? verb->get_name() + " --help)" : std::string("--help)"));
  if (first.empty()) return "which command? One of " + listed(verb_names(app)) + help;
  if (verb == nullptr && first[0] != '-')
    return "no command " + std::string(first) + suggestion(first, verb_names(app)) + help;
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (verb == nullptr) return unexpected(app, "", argc, argv, 1) + help;
  const std::string where = verb->get_name() + ": ";
  return (extra ? unexpected(*verb, where, argc, argv, 2) : where + error.what()) + help;
}

}  // namespace rangefinder::cli
