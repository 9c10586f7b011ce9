// SPDX-License-Identifier: MIT
#include "importer/kineto/captured_nodes.hpp"

#include "importer/kineto/json_text.hpp"
#include "timeline/node_launches.hpp"

namespace rangefinder::importer::kineto {
namespace {

// A file may claim any number; deeper ranges count for these.
constexpr std::size_t kMaxGraphDepth = 256;

/// The strings of a JSON list.
template <typename Use>
void for_each_string(std::string_view json, Use use) {
  std::string scratch;
  for (std::size_t at = json.find('"'); at != std::string_view::npos; at = json.find('"', at)) {
    RawText text;
    std::size_t end = ++at;
    for (; end < json.size() && json[end] != '"'; ++end) {
      if (json[end] != '\\') continue;
      text.escaped = true;
      ++end;
    }
    if (end >= json.size()) return;
    text.bytes = json.substr(at, end - at);
    use(meaning(text, scratch));
    at = end + 1;
  }
}

}  // namespace

std::uint32_t CapturedNodes::list_of(std::string_view json) {
  const auto known = known_lists_.find(json);
  if (known != known_lists_.end()) return known->second;
  Names names;
  for_each_string(json, [&](std::string_view name) {
    if (names.size() < kMaxGraphDepth) names.push_back(timeline_.intern(name));
  });
  const auto list = names.empty() ? kNone : static_cast<std::uint32_t>(lists_.size());
  if (!names.empty()) lists_.push_back(std::move(names));
  known_lists_.emplace(json, list);
  return list;
}

void CapturedNodes::add(const EventArguments& arguments) {
  using F = EventArguments;
  if (!arguments.has(F::kCapturedThread) || !arguments.has(F::kCapturedTime) || !arguments.captured_time.usable())
    return;
  made_.push_back({static_cast<ActivityIndex>(timeline_.activities.size() - 1), arguments.captured_thread,
                   arguments.captured_time.ns,
                   arguments.has(F::kCapturedRanges) ? list_of(arguments.captured_ranges) : kNone});
}

/// Threads of several processes may have one number; which of them it was is not said then. One that did nothing in
/// the recording is in no event.
ThreadIndex CapturedNodes::thread_of(const Made& made) {
  if (const auto known = threads_.find(made.tid); known != threads_.end()) return known->second;
  if (made.ranges == kNone) return kNone;
  const StreamIndex stream = timeline_.activities.stream[made.activity];
  const ProcessIndex process = timeline_.devices[timeline_.streams[stream].device].process;
  const auto thread = static_cast<ThreadIndex>(timeline_.threads.size());
  timeline_.threads.push_back({process, made.tid, {}, {}});
  threads_.emplace(made.tid, thread);
  return thread;
}

RangeIndex CapturedNodes::begin_range(StringId name, ThreadIndex thread, std::int64_t time_ns) {
  return timeline_.ranges.append({.name = name,
                                  .flags = kBeforeRecording,
                                  .thread = thread,
                                  .end_thread = thread,
                                  .begin_ns = time_ns,
                                  .end_ns = time_ns});
}

/// A range lasts as long as one launch after the other names it: what its real times were is not said.
void CapturedNodes::add_ranges(
    const std::map<std::pair<ThreadIndex, std::int64_t>, std::pair<LaunchIndex, std::uint32_t>>& lists) {
  RangeTable& ranges = timeline_.ranges;
  std::vector<RangeIndex> open;
  for (const auto& [place, made] : lists) {
    const auto& [thread, time_ns] = place;
    const auto& [launch, list] = made;
    const Names& names = lists_[list];
    std::size_t same = 0;
    while (same < open.size() && same < names.size() && ranges.thread[open[same]] == thread &&
           ranges.name[open[same]] == names[same])
      ++same;
    open.resize(same);
    while (open.size() < names.size()) open.push_back(begin_range(names[open.size()], thread, time_ns));
    for (const RangeIndex range : open) ranges.set_end(range, time_ns);
    timeline_.launches.set_range(launch, open.back());
  }
}

void CapturedNodes::finish() {
  if (made_.empty()) return;
  for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread) {
    const auto [known, is_new] = threads_.try_emplace(timeline_.threads[thread].tid, thread);
    if (!is_new) known->second = kNone;
  }
  ActivityTable& activities = timeline_.activities;
  timeline::NodeLaunches launches(timeline_);
  std::map<std::pair<ThreadIndex, std::int64_t>, std::pair<LaunchIndex, std::uint32_t>> with_ranges;
  for (const Made& made : made_) {
    const ThreadIndex thread = thread_of(made);
    if (thread == kNone) continue;
    const auto [launch, is_new] = launches.at(thread, made.time_ns);
    if (is_new && made.ranges != kNone)
      with_ranges.emplace(std::pair(thread, made.time_ns), std::pair(launch, made.ranges));
    activities.set_captured(made.activity, launch);
  }
  add_ranges(with_ranges);
}

}  // namespace rangefinder::importer::kineto
