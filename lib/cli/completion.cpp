// SPDX-License-Identifier: MIT
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace rangefinder::cli {
namespace {

/// A verb and its options, taken from the parser, so that completion never lags behind.
struct Verb {
  std::string name;
  std::string description;
  std::vector<const CLI::Option*> options;
  std::vector<Verb> verbs = {};  ///< of its own, as `bench` has
};

std::vector<Verb> verbs_of(const CLI::App& app) {
  std::vector<Verb> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_group().empty()) continue;  // hidden
    Verb entry{verb->get_name(), verb->get_description(), {}, verbs_of(*verb)};
    for (const CLI::Option* option : verb->get_options()) {
      if (option->nonpositional()) entry.options.push_back(option);
    }
    verbs.push_back(std::move(entry));
  }
  return verbs;
}

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? std::string() : option.get_lnames().front();
}

/// Shells complete the options of all nested verbs behind the outer one: some too many, and no second grammar.
std::vector<Verb> flattened(std::vector<Verb> verbs) {
  for (Verb& verb : verbs) {
    for (const Verb& inner : verb.verbs) {
      for (const CLI::Option* option : inner.options) {
        const bool known = std::any_of(verb.options.begin(), verb.options.end(),
                                       [&](const CLI::Option* each) { return name_of(*each) == name_of(*option); });
        if (!known) verb.options.push_back(option);
      }
    }
  }
  return verbs;
}

/// For the manual: "bench run", "bench compare", ... instead of "bench".
std::vector<Verb> spelled_out(const std::vector<Verb>& verbs) {
  std::vector<Verb> out;
  for (const Verb& verb : verbs) {
    if (verb.verbs.empty()) out.push_back(verb);
    for (Verb inner : verb.verbs) {
      inner.name = verb.name + " " + inner.name;
      out.push_back(std::move(inner));
    }
  }
  return out;
}

std::string names_of(const std::vector<Verb>& verbs) {
  std::string out;
  for (const Verb& verb : verbs) out += (out.empty() ? "" : " ") + verb.name;
  return out;
}

std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

std::string view_names() {
  std::string out;
  for (const ReportViewInfo& view : report_views()) out += (out.empty() ? "" : " ") + std::string(view.name);
  return out;
}

/// Words that an option takes; empty for a free value.
std::string values_of(const CLI::Option& option) {
  if (name_of(option) == "view") return view_names();
  std::string out;
  for (const std::string& word : words_of(&option)) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

std::string bash(const std::vector<Verb>& verbs) {
  const std::string names = names_of(verbs);
  std::string cases = "    completion:completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$word\")); return;;\n";
  for (const Verb& verb : verbs) {
    if (!verb.verbs.empty())
      cases += fmt::format("    {0}:{0}) COMPREPLY=($(compgen -W '{1} --help' -- \"$word\")); return;;\n", verb.name,
                           names_of(verb.verbs));
    std::string options;
    for (const CLI::Option* option : verb.options) {
      for (const std::string& spelling : spellings(*option)) options += (options.empty() ? "" : " ") + spelling;
      if (const std::string values = values_of(*option); !values.empty())
        cases += fmt::format("    {}:--{}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return;;\n", verb.name,
                             option->get_lnames().front(), values);
    }
    cases +=
        fmt::format("    {}:*) [[ $word == -* ]] && {{ COMPREPLY=($(compgen -W '{}' -- \"$word\")); return; }};;\n",
                    verb.name, options);
  }
  return fmt::format(
      "_rangefinder() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}}\n"
      "  COMPREPLY=()\n"
      "  if [[ $COMP_CWORD == 1 ]]; then COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\")); return; fi\n"
      "  case $verb:$before in\n{}  esac\n"
      "  COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "}}\n"
      "complete -o filenames -F _rangefinder rangefinder\n",
      names, cases);
}

std::string zsh(const std::vector<Verb>& verbs) {
  std::string names, cases;
  for (const Verb& verb : verbs) {
    names += fmt::format("    '{}:{}'\n", verb.name, quoted(verb.description));
    cases += fmt::format("    {})\n      _arguments", verb.name);
    for (const CLI::Option* option : verb.options) {
      const std::string values = values_of(*option);
      const std::string argument = option->get_expected_max() == 0 ? ""
                                   : values.empty()                ? ":value:_files"
                                                                   : fmt::format(":value:({})", values);
      for (const std::string& spelling : spellings(*option)) {
        std::string description = quoted(option->get_description());
        for (const char c : {'[', ']'}) {
          for (std::size_t at = 0; (at = description.find(c, at)) != std::string::npos; at += 2)
            description.insert(at, "\\");
        }
        cases += fmt::format(" \\\n        '{}[{}]{}'", spelling, description, argument);
      }
    }
    cases += " \\\n        '" +
             (verb.verbs.empty() ? std::string() : "1:verb:(" + names_of(verb.verbs) + ")' \\\n        '") +
             "*:file:_files'\n      ;;\n";
  }
  return fmt::format(
      "#compdef rangefinder\n"
      "_rangefinder() {{\n"
      "  local -a verbs=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
      "  local verb=$words[2]\n"
      "  shift words; (( CURRENT-- ))\n"
      "  case $verb in\n{}  esac\n"
      "}}\n"
      "compdef _rangefinder rangefinder\n",
      names, cases);
}

std::string fish(const std::vector<Verb>& verbs) {
  std::string out = "complete -c rangefinder -f\n";
  for (const Verb& verb : verbs) {
    out += fmt::format("complete -c rangefinder -n __fish_use_subcommand -a {} -d '{}'\n", verb.name,
                       quoted(verb.description));
    const std::string condition = fmt::format("-n '__fish_seen_subcommand_from {}'", verb.name);
    out += fmt::format("complete -c rangefinder {} -F\n", condition);
    if (!verb.verbs.empty())
      out += fmt::format("complete -c rangefinder {} -f -a '{}'\n", condition, names_of(verb.verbs));
    for (const CLI::Option* option : verb.options) {
      std::string line = fmt::format("complete -c rangefinder {}", condition);
      for (const std::string& name : option->get_snames()) line += " -s " + name;
      for (const std::string& name : option->get_lnames()) line += " -l " + name;
      if (option->get_expected_max() != 0) line += " -r";
      if (const std::string values = values_of(*option); !values.empty()) line += fmt::format(" -f -a '{}'", values);
      out += line + fmt::format(" -d '{}'\n", quoted(option->get_description()));
    }
  }
  return out;
}

std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '-' ? std::string("\\-") : c == '\\' ? std::string("\\e") : std::string(1, c);
  return out;
}

std::string man_page(const CLI::App& app, const std::vector<Verb>& verbs) {
  std::string out = ".TH RANGEFINDER 1\n.SH NAME\nrangefinder \\- GPU time on the ranges of your code\n.SH SYNOPSIS\n";
  for (const Verb& verb : verbs) out += fmt::format(".B rangefinder {}\n[options] ...\n.br\n", verb.name);
  out += ".SH DESCRIPTION\n" + roff(app.get_description()) +
         ".\nReads captures of programs that link the library, traces of torch.profiler, and SQLite exports of Nsight "
         "Systems.\n";
  for (const Verb& verb : verbs) {
    out += fmt::format(".SH {}\n{}.\n", verb.name, roff(verb.description));
    for (const CLI::Option* option : verb.options) {
      std::string names;
      for (const std::string& spelling : spellings(*option)) names += (names.empty() ? "" : ", ") + spelling;
      const std::string value = option->get_expected_max() == 0 ? "" : " \\fI" + roff(option->get_type_name()) + "\\fR";
      out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(names), value, roff(option->get_description()));
    }
  }
  return out +
         ".SH EXIT STATUS\n.TP\n0\nsuccess\n.TP\n1\ncheck or doctor found a problem\n.TP\n2\nwrong use, or unreadable "
         "input\n"
         ".TP\n3\nthe input is incomplete (only with \\-\\-strict)\n.TP\n70\ninternal error\n.PP\n"
         "record: the status of its program; 125 if it could not start, 126 and 127 if the program could not\n.br\n"
         "bench: 1 wrong output or failed run, 2 regression or goal not met, 3 wrong use, 4 everything skipped, 5 out "
         "of time\n"
         ".SH ENVIRONMENT\n.TP\nNO_COLOR\nany value turns colour off\n.TP\nCOLUMNS\nthe width of tables\n"
         ".TP\nRANGEFINDER_CONFIG, RANGEFINDER_DISABLE, RANGEFINDER_LOG\nconfigure recording in programs that link the "
         "library\n";
}

}  // namespace

void add_completion(CLI::App& app, Common&, int& result) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "Print a completion script for a shell");
  takes_one_of(verb->add_option("SHELL", *shell, "bash, zsh or fish"), {"bash", "zsh", "fish"})
      ->required()
      ->type_name("");
  verb->callback([&app, &result, shell] {
    const std::vector<Verb> verbs = flattened(verbs_of(app));
    write_stdout(*shell == "bash" ? bash(verbs) : *shell == "zsh" ? zsh(verbs) : fish(verbs));
    result = kSuccess;
  });
  // For the build, which installs what it prints.
  CLI::App* man = app.add_subcommand("man", "Print the manual page")->group("");
  man->callback([&app, &result] {
    write_stdout(man_page(app, spelled_out(verbs_of(app))));
    result = kSuccess;
  });
}

}  // namespace rangefinder::cli
