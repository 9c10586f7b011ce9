// SPDX-License-Identifier: MIT
#include "bench/function_name.hpp"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace rangefinder::bench {
namespace {

bool starts(std::string_view text, std::size_t at, std::string_view what) {
  return text.compare(at, what.size(), what) == 0;
}

/// Length of an operator's name there, "operator<<", "operator()" or "operator bool"; 0 where none stands.
std::size_t operator_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kOperator = "operator", kSigns = "+-*/%^&|~!=<>,";
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (!starts(text, at, kOperator) || (at > 0 && is_name(text[at - 1]))) return 0;
  std::size_t end = at + kOperator.size();
  if (starts(text, end, "()") || starts(text, end, "[]")) return kOperator.size() + 2;
  if (starts(text, end, " ")) return text.find('(', end) == text.npos ? 0 : text.find('(', end) - at;
  while (end < text.size() && kSigns.find(text[end]) != kSigns.npos) ++end;
  return end - at > kOperator.size() ? end - at : 0;
}

/// The position behind the bracket that closes the one there.
std::size_t behind_group(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    if (const std::size_t length = operator_at(text, at); length != 0) {
      at += length;
      continue;
    }
    if (starts(text, at, "->")) {
      at += 2;
      continue;
    }
    const char c = text[at++];
    if (std::string_view("<([{").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(">)]}").find(c) != std::string_view::npos && --depth == 0) break;
  }
  return at;
}

}  // namespace

std::string function_name(std::string_view symbol) {
  // "memcpy@GLIBC_2.14"
  std::string mangled(symbol.substr(0, symbol.find('@')));
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return mangled;
  const std::string_view full = text.get();
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string out;
  for (std::size_t at = 0; at < full.size();) {
    std::size_t taken = operator_at(full, at);
    if (taken == 0 && starts(full, at, kAnonymous)) taken = kAnonymous.size();
    out += full.substr(at, taken);
    at += taken;
    if (taken != 0) continue;
    switch (full[at]) {
      case ' ':
        out.clear();
        ++at;  // what stood before was the return type
        break;
      case '<':
      case '[':
        at = behind_group(full, at);  // template arguments, [abi:cxx11]
        break;
      case '{':
        at = behind_group(full, at);
        out += "{lambda}";
        break;
      case '(':
        at = behind_group(full, at);
        // Parameters end a name, unless they are those of a function around it.
        if (starts(full, at, " const::")) at += std::string_view(" const").size();
        if (!starts(full, at, "::") && out != "decltype") return out;
        break;
      default:
        out += full[at++];
    }
  }
  return out.empty() ? std::string(full) : out;
}

}  // namespace rangefinder::bench
