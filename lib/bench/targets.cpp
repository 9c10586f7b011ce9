// SPDX-License-Identifier: MIT
#include "bench/targets.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "bench/benchmark_json.hpp"
#include "bench/worker_process.hpp"

#include <rangefinder/bench/harness.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr const char* kWorkerName = "rangefinder-workloads";
constexpr std::int64_t kDescribe_ns = 120'000'000'000;  // a GPU's first use takes its time

/// Names become folders and keys.
bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= 100 && text[0] != '.' && text[0] != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
}

bool fits(std::string_view pattern, std::string_view text) {
  std::size_t at = 0, in = 0, star = std::string_view::npos, retry = 0;
  while (in < text.size()) {
    if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in]) && pattern[at] != '*') {
      ++at, ++in;
    } else if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      retry = in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++retry;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool is_target(const std::string& target, const Benchmark& benchmark) {
  if (target == "all" || target == benchmark.chapter) return true;
  const std::size_t colon = target.find(':');
  if (colon == std::string::npos) return fits(target, benchmark.name);
  return fits(target.substr(0, colon), benchmark.chapter) && fits(target.substr(colon + 1), benchmark.name);
}

std::string not_found(const std::string& target, const std::vector<Benchmark>& benchmarks) {
  std::vector<std::string_view> names;
  for (const Benchmark& benchmark : benchmarks) names.push_back(benchmark.name);
  const std::string_view nearest = base::nearest(target, names);
  return fmt::format("no target \"{}\"{}; `rangefinder bench list-targets` lists all", target,
                     nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest));
}

}  // namespace

Result<std::string> find_worker(const std::string& given, const std::string& command) {
  const char* variable = std::getenv("RANGEFINDER_WORKER");
  const auto beside = std::filesystem::path(command).parent_path() / kWorkerName;
  const std::string path = !given.empty()                               ? given
                           : variable != nullptr && variable[0] != '\0' ? std::string(variable)
                                                                        : beside.string();
  if (::access(path.c_str(), X_OK) == 0 && !base::is_directory(path)) return std::filesystem::absolute(path).string();
  return Error{ErrorCode::kNotFound,
               fmt::format("no worker at {}: build the examples (they make {}) or your own program "
                           "(docs/how-to/add-a-workload.md), and name it with --worker PATH or RANGEFINDER_WORKER",
                           path, kWorkerName)};
}

Result<Description> describe(const std::string& worker, const std::function<bool()>& cancelled) {
  const Result<std::vector<Json>> answers =
      ask_in_passing({worker, {}, false, kDescribe_ns, cancelled}, {Json::object({{"do", "describe"}})});
  if (!answers) return answers.error();
  const JsonView facts = answers->front();
  Description out;
  for (const JsonView each : facts["benchmarks"].items()) {
    out.benchmarks.push_back(benchmark_from_json(each));
    if (!is_name(out.benchmarks.back().name))
      return Error{ErrorCode::kUnreadable,
                   worker + ": a benchmark cannot be called \"" + out.benchmarks.back().name + "\""};
  }
  out.torch = facts["torch"].text();
  out.cuda = facts["cuda"].text();
  out.driver = facts["driver"].text();
  out.gpu.name = facts["gpu"]["name"].text();
  out.gpu.count = static_cast<unsigned>(std::clamp<std::int64_t>(facts["gpu"]["count"].integer(), 0, 1024));
  return out;
}

Result<std::vector<Benchmark>> chosen(const std::vector<Benchmark>& benchmarks,
                                      const std::vector<std::string>& targets) {
  if (benchmarks.empty()) return Error{ErrorCode::kNotFound, "the worker has no benchmarks"};
  if (targets.empty()) return benchmarks;
  for (const std::string& target : targets) {
    if (std::none_of(benchmarks.begin(), benchmarks.end(),
                     [&](const Benchmark& benchmark) { return is_target(target, benchmark); }))
      return Error{ErrorCode::kNotFound, not_found(target, benchmarks)};
  }
  std::vector<Benchmark> out;
  for (const Benchmark& benchmark : benchmarks) {
    if (std::any_of(targets.begin(), targets.end(), [&](const std::string& t) { return is_target(t, benchmark); }))
      out.push_back(benchmark);
  }
  return out;
}

Result<std::vector<Benchmark>> list_targets(const std::string& worker, const std::vector<std::string>& targets) {
  const Result<Description> description = describe(worker, {});
  if (!description) return description.error();
  return chosen(description->benchmarks, targets);
}

std::string targets_json(const std::vector<Benchmark>& benchmarks) {
  Json targets = Json::array();
  for (const Benchmark& benchmark : benchmarks) {
    Json target = to_json(benchmark);
    target["variants"] = Json::array({"baseline", "optimized"});
    targets.push_back(std::move(target));
  }
  return json_text(Json::object({{"schema_version", 1}, {"targets", std::move(targets)}}));
}

void put_one_of_each_family_first(std::vector<Benchmark>& benchmarks) {
  std::map<std::string, std::size_t> seen;
  std::vector<std::pair<std::size_t, Benchmark>> ranked;
  for (Benchmark& benchmark : benchmarks) {
    const std::size_t place = seen[benchmark.name.substr(0, benchmark.name.find('_'))]++;
    ranked.emplace_back(place, std::move(benchmark));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  benchmarks.clear();
  for (auto& each : ranked) benchmarks.push_back(std::move(each.second));
}

}  // namespace rangefinder::bench
