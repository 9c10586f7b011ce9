// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <initializer_list>

namespace rangefinder::base {
namespace {

void remove_all(std::string& text, std::string_view part) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;) text.erase(at, part.size());
}

/// What the first line "KEY : VALUE" of /proc/cpuinfo says; empty: there is none.
std::string cpu_fact(std::string_view key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) == 0) return line.substr(std::min(line.find(':'), line.size() - 1) + 1);
  }
  return {};
}

bool has_all(std::string_view flags, std::initializer_list<std::string_view> names) {
  const std::string words = " " + std::string(flags) + " ";
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return words.find(" " + std::string(name) + " ") != std::string::npos;
  });
}

}  // namespace

std::string hardware_slug(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  lower = lower.substr(0, lower.find(" @"));  // the nominal frequency says nothing that the model does not
  for (const char* noise : {"(r)", "(tm)", "nvidia", "processor"}) remove_all(lower, noise);
  std::string out;
  for (const char c : lower) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() ? "unnamed" : out;
}

std::string cpu_key(std::string_view model, unsigned processors) {
  std::string name = hardware_slug(model);
  remove_all(name, "_cpu");
  return "cpu_" + name + "_" + std::to_string(processors) + "t";
}

std::string_view cpu_model(std::string_view key) noexcept { return key.substr(0, key.rfind('_')); }

std::string cpu_key() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return cpu_key(cpu_fact("model name"), known ? static_cast<unsigned>(CPU_COUNT(&allowed)) : 1);
}

std::string cpu_family(std::string_view architecture, std::string_view flags) {
  std::string out = "cpu_" + std::string(architecture);
  if (architecture != "x86_64") return out;
  if (has_all(flags, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return out + "_avx512";
  return has_all(flags, {"avx2", "fma"}) ? out + "_avx2" : out;
}

std::string cpu_family() {
  utsname system{};
  return cpu_family(::uname(&system) == 0 ? system.machine : "unnamed", cpu_fact("flags"));
}

}  // namespace rangefinder::base
