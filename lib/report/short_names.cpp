// SPDX-License-Identifier: MIT
#include "report/short_names.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace rangefinder::report {
namespace {

constexpr std::string_view kDots = "...";
/// Less of an argument says nothing.
constexpr std::size_t kLeastOfArgument = 8;

bool is_identifier(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

/// One past the bracket that closes the one at `open`; the end where none does, as in names that were cut off.
std::size_t behind_bracket(std::string_view text, std::size_t open) noexcept {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '<' || c == '(' || c == '{') ++depth;
    const bool arrow = c == '>' && at != 0 && text[at - 1] == '-';
    if ((c == '>' || c == ')' || c == '}') && !arrow && --depth == 0) return at + 1;
  }
  return text.size();
}

/// Where the parts of a function's name are: [begin, end) is it without return type and parameters.
struct NameParts {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t previous = 0;   ///< of the scope around the last one, or the last one itself
  std::size_t last = 0;       ///< what is behind the last ::
  std::size_t arguments = 0;  ///< of the template's <; 0: it has none
};

/// How far an operator's own name reaches that begins at `at`, which may be made of brackets.
std::size_t behind_operator(std::string_view name, std::size_t at) noexcept {
  at += std::string_view("operator").size();
  if (name.substr(at).starts_with("()")) return at + 2;
  while (at < name.size() && std::string_view("<>=!+-*/&|^~%").find(name[at]) != std::string_view::npos) ++at;
  return at;
}

/// Nothing for what is no function's name.
std::optional<NameParts> parts_of(std::string_view name) {
  NameParts parts;
  std::size_t at = 0;
  while (at < name.size()) {
    const char c = name[at];
    if (at == parts.last && name.substr(at).starts_with("operator")) {
      at = behind_operator(name, at);
    } else if (c == '<' || c == '(' || c == '{') {
      const std::size_t behind = behind_bracket(name, at);
      const std::string_view rest = name.substr(behind);
      const bool is_scope = rest.starts_with("::") || rest.starts_with(" const::");
      if (at == parts.last && c != '{' && !is_scope) return std::nullopt;
      if (c == '(' && !is_scope) break;  // the parameters
      if (c == '<') parts.arguments = at;
      at = behind + (rest.starts_with(" const::") ? std::string_view(" const").size() : 0);
    } else if (c == ' ' || c == '[') {  // behind the return type; a remark such as [clone .kd]
      if (c == '[' || name.substr(at).starts_with(" [")) break;
      parts.begin = parts.previous = parts.last = ++at;
      parts.arguments = 0;
    } else if (name.substr(at).starts_with("::")) {
      parts.previous = parts.last;
      parts.last = at += 2;
      parts.arguments = 0;
    } else {
      ++at;
    }
  }
  parts.end = at;
  if (parts.last >= parts.end) return std::nullopt;
  return parts;
}

/// at::native::(anonymous namespace)::add<c10::Half> is add<Half>.
std::string without_namespaces(std::string_view text) {
  constexpr std::string_view kAnonymous[] = {"(anonymous namespace)", "<unnamed>"};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!text.substr(at).starts_with("::")) {
      out += text[at++];
      continue;
    }
    at += 2;
    std::size_t begin = out.size();
    while (begin > 0 && is_identifier(out[begin - 1])) --begin;
    for (const std::string_view scope : kAnonymous)
      if (out.ends_with(scope)) begin = out.size() - scope.size();
    if (begin == out.size() && begin != 0)
      out += "::";  // behind brackets: a part of a function or a class
    else
      out.resize(begin);
  }
  return out;
}

/// kernel, Kernel, Kernel2: what it is of is said by the scope.
bool says_nothing(std::string_view name) noexcept {
  const std::string_view word = name.substr(0, name.find('<'));
  return word.size() <= 7 && (word.starts_with("kernel") || word.starts_with("Kernel"));
}

/// "4, CUDAFun..." of arguments, or "4, ..." where little of the next one would be left.
std::string first_arguments(std::string_view arguments, std::size_t room, bool utf8) {
  // A single word is a name by itself, of which the end says as much as the beginning.
  if (std::all_of(arguments.begin(), arguments.end(), is_identifier) && room >= kLeastOfArgument + kDots.size())
    return shortened(arguments, room, utf8);
  std::string_view kept =
      arguments.substr(0, base::bytes_within(arguments, room > kDots.size() ? room - kDots.size() : 0));
  std::size_t argument = 0;  // begin of the one that is cut
  int depth = 0;
  for (std::size_t at = 0; at < kept.size(); ++at) {
    const char c = kept[at];
    depth += c == '<' || c == '(' || c == '{' ? 1 : c == '>' || c == ')' || c == '}' ? -1 : 0;
    if (depth == 0 && at >= 1 && kept[at - 1] == ',' && c == ' ') argument = at + 1;
  }
  if (kept.size() - argument < kLeastOfArgument) kept = kept.substr(0, argument);
  return std::string(kept).append(kDots);
}

// Byte positions at which the characters of a text begin, and its end.
std::vector<std::size_t> character_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size();) {
    starts.push_back(at);
    char32_t character = 0;
    at += std::max<std::size_t>(1, base::decode_utf8(text.substr(at), character));
  }
  starts.push_back(text.size());
  return starts;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t width, bool utf8) {
  if (base::display_width(text) <= width) return std::string(text);
  const std::string_view ellipsis = utf8 ? "\u2026" : "...";
  const std::size_t marks = base::display_width(ellipsis);
  if (width <= marks) return std::string(width, '.');
  // Names of kernels differ at their ends as often as at their beginnings.
  const std::size_t tail_room = (width - marks) / 3, head_room = width - marks - tail_room;
  const std::vector<std::size_t> starts = character_starts(text);
  const auto wide = [&](std::size_t from, std::size_t to) {
    return base::display_width(text.substr(starts[from], starts[to] - starts[from]));
  };
  std::size_t head = 0, tail = starts.size() - 1;
  for (std::size_t taken = 0; head + 1 < starts.size() && (taken += wide(head, head + 1)) <= head_room;) ++head;
  for (std::size_t taken = 0; tail > head && (taken += wide(tail - 1, tail)) <= tail_room;) --tail;
  std::string out(text.substr(0, starts[head]));
  return out.append(ellipsis).append(text.substr(starts[tail]));
}

std::string short_path(std::string_view path, std::size_t width, bool utf8) {
  if (base::display_width(path) <= width) return std::string(path);
  const std::string mark = utf8 ? "\u2026/" : ".../";
  for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    const std::string_view inner = path.substr(at + 1);
    if (base::display_width(mark) + base::display_width(inner) <= width) return mark + std::string(inner);
  }
  return shortened(path.substr(path.rfind('/') + 1), width, utf8);
}

std::string short_kernel_name(std::string_view name, std::size_t width, bool utf8) {
  const auto fits = [&](std::string_view text) { return base::display_width(text) <= width; };
  if (fits(name)) return std::string(name);
  const std::optional<NameParts> parts = parts_of(name);
  if (!parts) return shortened(name, width, utf8);
  const std::string_view qualified = name.substr(parts->begin, parts->end - parts->begin);
  if (fits(qualified)) return std::string(qualified);
  std::size_t begin = parts->last;
  const bool needs_scope = says_nothing(name.substr(begin)) || name[begin] == '{';
  // The scope is worth less than the first word inside.
  const std::size_t inside_at = std::max(parts->arguments, parts->last);
  const std::size_t least = parts->arguments == 0 ? 0 : kLeastOfArgument + kDots.size() + 2;
  if (needs_scope && inside_at - parts->previous + least <= width) begin = parts->previous;
  const std::string_view plain = name.substr(begin, parts->end - begin);
  if (fits(plain)) return std::string(plain);
  if (parts->arguments == 0) return shortened(plain, width, utf8);
  const std::string_view family = name.substr(begin, parts->arguments - begin);
  std::string_view inside = name.substr(parts->arguments + 1, parts->end - parts->arguments - 1);
  if (inside.ends_with('>')) inside.remove_suffix(1);
  while (inside.ends_with(' ')) inside.remove_suffix(1);
  const std::string arguments = without_namespaces(inside);
  const std::size_t taken = base::display_width(family) + 2;  // with < and >
  if (taken + base::display_width(arguments) <= width) return std::string(family) + "<" + arguments + ">";
  if (taken + kDots.size() <= width)
    return std::string(family) + "<" + first_arguments(arguments, width - taken, utf8) + ">";
  return shortened(family, width, utf8);
}

}  // namespace rangefinder::report
