// SPDX-License-Identifier: MIT
#include "common/arguments.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace bench {
namespace {

bool take(std::string* to, const char* text) {
  *to = text;
  return true;
}

/// 1e6 is a whole number too.
template <typename Number>
bool take(Number* to, const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(number >= 1) || number >= 9e15) return false;
  if (number > static_cast<double>(std::numeric_limits<Number>::max())) return false;
  *to = static_cast<Number>(number);
  return static_cast<double>(*to) == number;
}

[[noreturn]] void print_usage(const char* program, std::initializer_list<Argument> known, bool wanted) {
  const char* const slash = std::strrchr(program, '/');
  FILE* const out = wanted ? stdout : stderr;
  std::fprintf(out, "%s", slash != nullptr ? slash + 1 : program);
  for (const Argument& one : known)
    std::fprintf(out, " [%s %s]", one.name, std::holds_alternative<std::string*>(one.value) ? "TEXT" : "N");
  std::fprintf(out, "\n");
  std::exit(wanted ? 0 : 2);
}

}  // namespace

void read_arguments(int argc, char** argv, std::initializer_list<Argument> known) {
  for (int i = 1; i < argc; i += 2) {
    if (std::strcmp(argv[i], "--help") == 0) print_usage(argv[0], known, true);
    bool taken = false;
    for (const Argument& one : known)
      if (i + 1 < argc && std::strcmp(argv[i], one.name) == 0)
        taken = std::visit([&](auto* to) { return take(to, argv[i + 1]); }, one.value);
    if (!taken) {
      std::fprintf(stderr, "%s%s%s: no such option or value\n", argv[i], i + 1 < argc ? " " : "",
                   i + 1 < argc ? argv[i + 1] : "");
      print_usage(argv[0], known, false);
    }
  }
}

}  // namespace bench
