// SPDX-License-Identifier: MIT
#include "analysis/device_states.hpp"
#include "base/text.hpp"
#include "exporter/html/device_time.hpp"
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"
#include "report/units.hpp"

#include <rangefinder/analysis/stragglers.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

// Rules with a measured trigger. Each item says what was measured, what may be gained at most, and where it is.
namespace rangefinder::html {
namespace {

using report::readable_time;

/// Below this share of the devices' time a loss is not worth a rule.
constexpr double kWorthwhile = 0.05;
constexpr double kBad = 0.20;

struct Place {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct Item {
  std::string title;
  std::string text;
  std::vector<std::string> evidence;
  std::int64_t gain_ns = 0;
  std::string gain;
  std::optional<Place> place;
  const char* severity = "note";
};

/// The longest stretch of a kind, of all devices.
struct Longest {
  std::optional<Place> host_wait, kernel_wait, sync_wait, communication, copy;
};

void take_longer(std::optional<Place>& known, const analysis::Span& span) {
  if (!known || since(span.begin, span.end) > since(known->begin_ns, known->end_ns))
    known = Place{span.begin, span.end};
}

Longest find_longest(const PageInput& input) {
  const Timeline& timeline = input.timeline;
  const std::vector<std::uint32_t>& owner = input.projection().owner;
  analysis::DeviceStates states(timeline, BreakdownOptions{}.usual_gap_ns, [&](ActivityIndex activity) {
    return activity < owner.size() && owner[activity] == static_cast<std::uint32_t>(Unowned::kBefore);
  });
  Longest longest;
  for (DeviceIndex device{0}; device < timeline.devices.size(); ++device) {
    for (const analysis::Span& span : states.of(device)) {
      if (span.begin < timeline.begin_ns || span.end > timeline.end_ns) continue;  // before and after all work
      if (analysis::is_work(span.kind)) {
        const int work = span.kind & (analysis::kComputing | analysis::kCommunicating | analysis::kCopying);
        if (work == analysis::kCommunicating) take_longer(longest.communication, span);
        if (work == analysis::kCopying) take_longer(longest.copy, span);
      } else if (span.kind == static_cast<std::uint8_t>(analysis::DeviceIdle::kHostWait)) {
        take_longer(longest.host_wait, span);
      } else if (span.kind == static_cast<std::uint8_t>(analysis::DeviceIdle::kKernelWait)) {
        take_longer(longest.kernel_wait, span);
      } else if (span.kind == static_cast<std::uint8_t>(analysis::DeviceIdle::kSyncWait)) {
        take_longer(longest.sync_wait, span);
      }
    }
  }
  return longest;
}

struct LossRule {
  std::int64_t (*time_ns)(const DeviceTime& time);
  std::optional<Place> Longest::*place;
  const char* title;
  const char* text;
};
constexpr std::array<LossRule, 5> kLossRules{{
    {[](const DeviceTime& time) { return time.idle.host_wait_ns; }, &Longest::host_wait,
     "The device waits for the host",
     "The host launched the next operation only after the device had run out of work. Look at what the host does "
     "there: "
     "data loading, Python, many small launches. CUDA graphs, larger batches or more loader workers can help."},
    {[](const DeviceTime& time) { return time.exposed_communication_ns; }, &Longest::communication,
     "Communication is not hidden behind computation",
     "Collectives ran while the device computed nothing. Start them earlier, or make their buckets smaller, so that "
     "they overlap with the backward pass."},
    {[](const DeviceTime& time) { return time.exposed_memcpy_ns; }, &Longest::copy,
     "Copies are not hidden behind computation",
     "Copies ran while the device computed nothing. Pinned memory and a stream of their own let them overlap."},
    {[](const DeviceTime& time) { return time.idle.sync_wait_ns; }, &Longest::sync_wait,
     "Streams wait for events of others",
     "A stream was told to wait, and nothing else ran meanwhile. Look at whether each of these dependencies is "
     "needed."},
    {[](const DeviceTime& time) { return time.idle.kernel_wait_ns; }, &Longest::kernel_wait,
     "Much time passes in short gaps between operations",
     "Each gap is no longer than the device takes to begin the next operation, and there are many. Fewer, larger "
     "kernels "
     "or a CUDA graph make fewer gaps."},
}};

class Advice {
 public:
  explicit Advice(const PageInput& input) : input_(input), timeline_(input.timeline) {}

  std::string json(const DeviceTime& time, const std::optional<Result<Stragglers>>& compared) {
    evaluate_losses(time);
    evaluate_ranges();
    evaluate_ranks(compared);
    std::string items, missing;
    for (const Item& item : items_) items += (items.empty() ? "" : ",") + json_of_item(item);
    for (const std::string& one : not_evaluated_) missing += (missing.empty() ? "" : ",") + json_of(one);
    return "{\"items\":[" + items + "],\"not_evaluated\":[" + missing + "]}";
  }

 private:
  void evaluate_losses(const DeviceTime& time) {
    if (time.devices == 0) {
      not_evaluated_.emplace_back("Idle time, communication and copies of devices: no device activity was recorded");
      return;
    }
    const Longest longest = find_longest(input_);
    for (const LossRule& rule : kLossRules) {
      const std::int64_t lost_ns = rule.time_ns(time);
      const double share = time.share(lost_ns);
      if (share < kWorthwhile) continue;
      Item item{rule.title, rule.text, {readable_time(lost_ns) + " of " + readable_time(time.total_ns)}};
      item.gain_ns = lost_ns;
      item.gain = "at most " + percent(share) + " of the device's time";
      item.place = longest.*rule.place;
      if (item.place)
        item.evidence.push_back("the longest stretch took " +
                                readable_time(since(item.place->begin_ns, item.place->end_ns)));
      item.severity = share >= kBad ? "bad" : "warning";
      items_.push_back(std::move(item));
    }
  }

  void evaluate_ranges() {
    const Account& account = input_.projection().account;
    const std::int64_t total_ns = since(0, account.total.gpu_sum_ns);
    if (total_ns == 0) return;
    const auto share = [&](std::int64_t part_ns) {
      return static_cast<double>(since(0, part_ns)) / static_cast<double>(total_ns);
    };
    if (share(account.outside.gpu_sum_ns) > 0.5) {
      Item item{"Most device time is outside of any range",
                "Name the parts of the program with ProfileRange, NVTX or record_function, so that device time has an "
                "owner.",
                {percent(share(account.outside.gpu_sum_ns)) + " of device time was launched outside any range"}};
      items_.push_back(std::move(item));
    }
    const double unknown = share(account.unknown.gpu_sum_ns) + share(account.before.gpu_sum_ns);
    if (unknown > 0.1)
      items_.push_back(
          {"The launch of much device time is not in the recording",
           "Record from before the work is launched; a ring that is too small also loses launches.",
           {percent(unknown) + " of device time was launched before the recording, or its launch is lost"}});
  }

  void evaluate_ranks(const std::optional<Result<Stragglers>>& compared) {
    if (!compared) {
      not_evaluated_.emplace_back("Slow ranks: needs captures of several ranks that call session.step()");
      return;
    }
    const Result<Stragglers>& found = *compared;
    if (!found || !found->abstained.empty()) {
      not_evaluated_.push_back("Slow ranks: " + (found ? found->abstained : found.error().message()));
      return;
    }
    constexpr std::size_t kMostNamed = 5;
    for (std::size_t i = 0; i < found->stragglers.size() && i < kMostNamed; ++i) add_straggler(*found, i);
  }

  void add_straggler(const Stragglers& found, std::size_t number) {
    const Straggler& slow = found.stragglers[number];
    const ProcessInfo& process = timeline_.processes[found.ranks[slow.rank].process];
    const std::string who =
        process.rank >= 0 ? "Rank " + std::to_string(process.rank) : "Process " + std::to_string(process.pid);
    Item item{who + " is slower than the others",
              std::string("Its own work takes longer than that of the median rank, mostly: ") + to_string(slow.cause) +
                  ". All other ranks wait for it.",
              {readable_time(slow.excess_ns) + " longer a step"}};
    item.gain = percent(slow.excess_ratio) + " of a step";
    if (slow.range != StringId::kEmpty)
      item.evidence.push_back("the range that takes longer: " + std::string(timeline_.text(slow.range)));
    item.severity = slow.excess_ratio >= kBad ? "bad" : "warning";
    items_.push_back(std::move(item));
  }

  std::string json_of_item(const Item& item) const {
    std::string evidence;
    for (const std::string& one : item.evidence) evidence += (evidence.empty() ? "" : ",") + json_of(one);
    std::string json = "{\"title\":" + json_of(item.title) + ",\"text\":" + json_of(item.text) + ",\"evidence\":[" +
                       evidence + "],\"severity\":\"" + item.severity + "\"";
    if (item.gain_ns > 0) json += ",\"gain_ns\":" + std::to_string(item.gain_ns);
    if (!item.gain.empty()) json += ",\"gain\":" + json_of(item.gain);
    if (item.place)
      json += ",\"begin_ns\":" + std::to_string(since(timeline_.begin_ns, item.place->begin_ns)) +
              ",\"duration_ns\":" + std::to_string(since(item.place->begin_ns, item.place->end_ns));
    return json + "}";
  }

  const PageInput& input_;
  const Timeline& timeline_;
  std::vector<Item> items_;
  std::vector<std::string> not_evaluated_;
};

}  // namespace

std::string advice_section(const PageInput& input, const DeviceTime& time,
                           const std::optional<Result<Stragglers>>& found) {
  return Advice(input).json(time, found);
}

}  // namespace rangefinder::html
