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
    if (word == "--") break;
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
    return unexpected(*verb, where, argc, argv, at) + help;
  }
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  return (extra ? unexpected(*verb, where, argc, argv, at) : where + error.what()) + help;
}

}  // namespace rangefinder::cli
