// SPDX-License-Identifier: MIT
#include "bench/host_samples.hpp"

#include "base/descending.hpp"
#include "bench/symbolizer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace rangefinder::bench {
namespace {

constexpr std::size_t kFunctions = 20;

struct Sample {
  std::int64_t time_ns = 0, thread = 0, cpu_ns = 0, stack = 0;
};

/// In order of time.
std::vector<Sample> samples_of(JsonView document) {
  std::vector<Sample> out;
  for (const JsonView each : document["samples"].items()) {
    const std::vector<JsonView> figures = each.items();
    if (figures.size() == 4)
      out.push_back({figures[0].integer(), figures[1].integer(), figures[2].integer(), figures[3].integer(-1)});
  }
  std::stable_sort(out.begin(), out.end(), [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
  return out;
}

/// Names of a stack's functions, innermost first.
std::vector<std::string> functions_of(const std::vector<JsonView>& stacks, const std::vector<JsonView>& functions,
                                      std::int64_t stack) {
  std::vector<std::string> out;
  if (stack < 0 || static_cast<std::size_t>(stack) >= stacks.size()) return out;
  for (const JsonView each : stacks[static_cast<std::size_t>(stack)].items()) {
    const std::int64_t function = each.integer(-1);
    if (function >= 0 && static_cast<std::size_t>(function) < functions.size())
      out.push_back(functions[static_cast<std::size_t>(function)].text());
  }
  return out;
}

/// What a line of folded stacks is made of must not stand in a name.
std::string folded_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == ';') c = ':';
    if (c == '\n' || c == '\r') c = ' ';
  }
  return out;
}

/// Ranges that were open, operators among them; to be asked in order of time.
class OpenRanges {
 public:
  explicit OpenRanges(const Timeline& timeline) : ranges_(timeline.ranges) {
    for (RangeIndex range{0}; range < ranges_.size(); ++range) {
      const bool kind = ranges_.kind[range] == RangeKind::kAnnotation || ranges_.kind[range] == RangeKind::kOperator;
      if (kind && ranges_.style[range] == RangeStyle::kScoped)
        threads_[timeline.threads[ranges_.thread[range]].tid].all.push_back(range);
    }
    for (auto& [id, thread] : threads_) {
      std::sort(thread.all.begin(), thread.all.end(), [&](RangeIndex a, RangeIndex b) {
        return std::pair(ranges_.begin_ns[a], base::Descending{ranges_.end_ns[a]}) <
               std::pair(ranges_.begin_ns[b], base::Descending{ranges_.end_ns[b]});
      });
    }
  }

  /// From the outermost.
  const std::vector<RangeIndex>& at(std::int64_t id, std::int64_t time_ns) {
    Thread& thread = threads_[id];
    for (; thread.next < thread.all.size() && ranges_.begin_ns[thread.all[thread.next]] <= time_ns; ++thread.next) {
      close(thread.open, ranges_.begin_ns[thread.all[thread.next]]);
      thread.open.push_back(thread.all[thread.next]);
    }
    close(thread.open, time_ns);
    return thread.open;
  }

 private:
  struct Thread {
    std::vector<RangeIndex> all, open;
    std::size_t next = 0;
  };

  void close(std::vector<RangeIndex>& open, std::int64_t time_ns) const {
    while (!open.empty() && ranges_.end_ns[open.back()] <= time_ns) open.pop_back();
  }

  const RangeTable& ranges_;
  std::map<std::int64_t, Thread> threads_;
};

/// The outermost first. Where the unwinder found no caller, as in code that was made at run time, operators tell whose
/// work it is.
std::vector<std::string> whole_stack(const Timeline& timeline, const std::vector<RangeIndex>& open,
                                     std::vector<std::string>& functions) {
  std::vector<std::string> out;
  const bool alone = functions.size() < 2;
  std::string innermost;
  for (const RangeIndex range : open) {
    const bool is_operator = timeline.ranges.kind[range] == RangeKind::kOperator;
    if (is_operator && !alone) continue;
    out.emplace_back(timeline.text(timeline.ranges.name[range]));
    if (is_operator) innermost = out.back();
  }
  if (functions.empty()) functions.emplace_back(kUnknownFunction);
  if (functions.front() == kUnknownFunction && !innermost.empty()) functions.front() += " in " + innermost;
  out.insert(out.end(), functions.rbegin(), functions.rend());
  return out;
}

struct Share {
  std::int64_t self_ns = 0, total_ns = 0;
};

Json functions_json(const std::map<std::string, Share>& shares) {
  std::vector<std::pair<std::string, Share>> all(shares.begin(), shares.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.self_ns > b.second.self_ns; });
  all.resize(std::min(all.size(), kFunctions));
  Json out = Json::array();
  for (const auto& [name, share] : all)
    out.push_back(Json::object({{"name", name}, {"self_ns", share.self_ns}, {"total_ns", share.total_ns}}));
  return out;
}

}  // namespace

HostSamples host_samples(JsonView samples, const Timeline& timeline) {
  OpenRanges ranges(timeline);
  const std::vector<Sample> all = samples_of(samples);
  const std::vector<JsonView> stacks = samples["stacks"].items(), names = samples["functions"].items();
  std::map<std::string, Share> shares;
  std::map<std::string, std::int64_t> folded;
  std::int64_t cpu_ns = 0;
  for (const Sample& sample : all) {
    std::vector<std::string> functions = functions_of(stacks, names, sample.stack);
    std::string line;
    for (const std::string& name : whole_stack(timeline, ranges.at(sample.thread, sample.time_ns), functions))
      line += (line.empty() ? "" : ";") + folded_name(name);
    folded[line] += sample.cpu_ns;
    cpu_ns += sample.cpu_ns;
    shares[functions.front()].self_ns += sample.cpu_ns;
    // One that calls itself counts once.
    for (const std::string& name : std::set<std::string>(functions.begin(), functions.end()))
      shares[name].total_ns += sample.cpu_ns;
  }
  HostSamples out;
  out.figures = Json::object({{"count", static_cast<std::int64_t>(all.size())},
                              {"lost", samples["lost"].integer()},
                              {"cpu_ns", cpu_ns},
                              {"functions", functions_json(shares)}});
  for (const auto& [stack, ns] : folded) out.folded += stack + " " + std::to_string(ns) + "\n";
  return out;
}

}  // namespace rangefinder::bench
