// SPDX-License-Identifier: MIT
#include "analysis/allocator_counts.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rangefinder::analysis {
namespace {

using Figure = std::optional<std::int64_t> AllocatorCount::*;

constexpr std::pair<std::string_view, Figure> kFigures[] = {
    {"allocated bytes", &AllocatorCount::allocated_bytes},
    {"reserved bytes", &AllocatorCount::reserved_bytes},
    {"requested bytes", &AllocatorCount::requested_bytes},
    {"active bytes", &AllocatorCount::active_bytes},
    {"inactive split bytes", &AllocatorCount::inactive_split_bytes},
    {"segments", &AllocatorCount::segments},
    {"allocation retries", &AllocatorCount::retries},
    {"out of memory", &AllocatorCount::out_of_memory},
};

/// What a counter of that name tells: nothing, or a figure of a device.
struct CounterMeaning {
  std::int32_t device = -1;
  Figure figure = nullptr;
};

CounterMeaning meaning_of(std::string_view name) {
  constexpr std::string_view kPrefix = "cuda:";
  if (name.substr(0, kPrefix.size()) != kPrefix) return {};
  name.remove_prefix(kPrefix.size());
  CounterMeaning meaning;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), meaning.device);
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (error != std::errc{} || meaning.device < 0 || name.empty() || name.front() != ' ') return {};
  name.remove_prefix(1);
  for (const auto& [text, figure] : kFigures)
    if (name == text) meaning.figure = figure;
  return meaning;
}

class CounterMeanings {
 public:
  explicit CounterMeanings(const Timeline& timeline) : timeline_(timeline) {}
  const CounterMeaning& of(StringId name) {
    const auto [found, added] = by_name_.try_emplace(static_cast<std::uint32_t>(name));
    if (added) found->second = meaning_of(timeline_.text(name));
    return found->second;
  }

 private:
  const Timeline& timeline_;
  std::unordered_map<std::uint32_t, CounterMeaning> by_name_;
};

/// Rows that count something of a device, in order of time.
std::vector<std::pair<std::uint32_t, CounterMeaning>> counting_rows(const Timeline& timeline) {
  const CounterTable& counters = timeline.counters;
  CounterMeanings meanings(timeline);
  std::vector<std::pair<std::uint32_t, CounterMeaning>> rows;
  for (std::uint32_t row = 0; row < counters.size(); ++row) {
    if (!counters.is_integer[row] || counters.thread[row] >= timeline.threads.size()) continue;
    if (const CounterMeaning& meaning = meanings.of(counters.name[row]); meaning.figure != nullptr)
      rows.emplace_back(row, meaning);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return counters.time_ns[a.first] < counters.time_ns[b.first]; });
  return rows;
}

/// Fills in the steps in which they were counted: what is counted as a step ends belongs to that one.
void find_steps(const Timeline& timeline, CountedDevice& device) {
  const StepTable& table = timeline.steps;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> steps;  // begin, end, number
  for (std::size_t step = 0; step < table.size(); ++step) {
    const ThreadIndex thread = table.thread[step];
    if (thread < timeline.threads.size() && timeline.threads[thread].process == device.place.process)
      steps.emplace_back(table.begin_ns[step], table.end_ns[step], table.number[step]);
  }
  std::sort(steps.begin(), steps.end());
  for (AllocatorCount& count : device.counts) {
    const auto after = std::upper_bound(steps.begin(), steps.end(), count.time_ns,
                                        [](std::int64_t time, const auto& step) { return time < std::get<0>(step); });
    if (after == steps.begin()) continue;
    const auto& [begin_ns, end_ns, number] = *std::prev(after);
    if (count.time_ns < end_ns) count.step = number;
  }
}

}  // namespace

std::size_t CountedDevice::most_split() const noexcept {
  const auto bytes = [](const AllocatorCount& count) { return count.inactive_split_bytes.value_or(-1); };
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [&](const AllocatorCount& a, const AllocatorCount& b) { return bytes(a) < bytes(b); });
  return static_cast<std::size_t>(most - counts.begin());
}

std::vector<CountedDevice> counted_devices(const Timeline& timeline) {
  const CounterTable& counters = timeline.counters;
  // Two threads may count at once: the figures of one count are of one thread. A figure that is there begins the next.
  std::map<std::pair<MemoryPlace, ThreadIndex>, std::vector<AllocatorCount>> by_thread;
  for (const auto& [row, meaning] : counting_rows(timeline)) {
    const ThreadIndex thread = counters.thread[row];
    std::vector<AllocatorCount>& counts = by_thread[{{timeline.threads[thread].process, meaning.device}, thread}];
    if (counts.empty() || (counts.back().*meaning.figure).has_value()) {
      counts.emplace_back();
      counts.back().time_ns = counters.time_ns[row];
    }
    // Less than nothing is no count, but stands for one that was made.
    counts.back().*meaning.figure = std::max<std::int64_t>(counters.integer[row], -1);
  }
  std::vector<CountedDevice> devices;
  for (auto& [key, counts] : by_thread) {
    if (devices.empty() || devices.back().place != key.first) devices.push_back({key.first, {}});
    std::move(counts.begin(), counts.end(), std::back_inserter(devices.back().counts));
  }
  for (CountedDevice& device : devices) {
    for (AllocatorCount& count : device.counts) {
      for (const auto& [text, figure] : kFigures)
        if ((count.*figure).value_or(0) < 0) (count.*figure).reset();
    }
    std::stable_sort(device.counts.begin(), device.counts.end(),
                     [](const AllocatorCount& a, const AllocatorCount& b) { return a.time_ns < b.time_ns; });
    find_steps(timeline, device);
  }
  return devices;
}

bool has_allocator_counts(const Timeline& timeline) { return !counting_rows(timeline).empty(); }

}  // namespace rangefinder::analysis
