// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace rangefinder::base {
namespace {

void remove_all(std::string& text, std::string_view part) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;) text.erase(at, part.size());
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

std::string cpu_key() {
  std::string model;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; model.empty() && std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) model = line.substr(std::min(line.find(':'), line.size() - 1) + 1);
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return cpu_key(model, known ? static_cast<unsigned>(CPU_COUNT(&allowed)) : 1);
}

}  // namespace rangefinder::base
