// SPDX-License-Identifier: MIT
// A capture window by window. What a window's own rows refer to is named by key, correlation or number in WindowStore
// as long as it is needed (capture_loader_keep.cpp), and put behind the window's rows ("recalled") only where they do
// refer to it.
#include "importer/capture/capture_loader.hpp"
#include "timeline/collectives.hpp"
#include "timeline/finish.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace rangefinder::importer {
namespace {

// What tells where nodes were made, of a thread: enough for the ranges of many steps.
constexpr std::size_t kMaxOrigins = std::size_t{1} << 16;

}  // namespace

// ---- places -----------------------------------------------------------------------------------------------------

RangeIndex CaptureLoader::own_row(std::uint64_t key) const noexcept {
  if (key >= first_key_) return static_cast<RangeIndex>(first_range_ + (key - first_key_));
  const auto found = std::lower_bound(carried_.begin(), carried_.end(), key);
  if (found == carried_.end() || *found != key) return kNone;
  return static_cast<RangeIndex>(found - carried_.begin());
}

RangeIndex CaptureLoader::earlier_row(std::uint64_t key) const noexcept {
  if (const RangeIndex row = own_row(key); row != kNone) return row;
  const auto found = recalled_.find(key);
  return found != recalled_.end() ? found->second : RangeIndex(kNone);
}

std::vector<std::uint64_t> CaptureLoader::earlier_keys() const {
  std::vector<std::uint64_t> keys = carried_;
  const auto from = static_cast<std::ptrdiff_t>(keys.size());
  keys.reserve(keys.size() + store_->ranges.size());
  for (const auto& [key, range] : store_->ranges) keys.push_back(key);
  std::sort(keys.begin() + from, keys.end());
  std::inplace_merge(keys.begin(), keys.begin() + from, keys.end());
  return keys;
}

CaptureLoader::RunningNodes& CaptureLoader::running_nodes(std::uint32_t thread) {
  if (thread >= running_.size()) running_.resize(thread + 1);
  return running_[thread];
}

bool CaptureLoader::is_engine(std::uint32_t thread) { return out_.threads[thread_of(thread)].is_engine; }

/// The engine adds up gradients behind a node: on a thread of its own a node lasts until the next one begins.
std::uint64_t CaptureLoader::running_node(std::uint32_t thread) {
  if (thread >= running_.size()) return 0;
  const RunningNodes& running = running_[thread];
  if (running.done != 0 && running.depth == running.numbers.size() && is_engine(thread)) return running.done;
  return running.numbers.empty() ? 0 : running.numbers.back();
}

// ---- the first and each window ----------------------------------------------------------------------------------

void CaptureLoader::begin_windows(const Windowed& windowed) {
  windowed_ = windowed;
  store_ = std::make_unique<WindowStore>();
  node_origins_ = NodeOrigins(kMaxOrigins);
}

void CaptureLoader::close_window() {
  if (windowed_.in_order) assembler_.end_all_elsewhere();
  add_open_ranges();
  own_ranges_ = out_.ranges.size();
  own_launches_ = out_.launches.size();
  own_activities_ = out_.activities.size();
  own_calls_ = out_.calls.size();
  if (windowed_.known_ends != nullptr)
    for (const std::uint64_t key : carried_) recall_ranges(key);
  add_launch_ranges();
  add_window_nodes();
  recall_replays();
  recall_launches();
  add_operators(options_.operator_inputs);
  add_collectives();
  add_cpu_counters();
  add_steps();
  earlier_calls_.write(out_.earlier_calls);
  std::stable_sort(out_.attachments.begin(), out_.attachments.end(), [](const Attachment& a, const Attachment& b) {
    return std::pair(a.target, a.row) < std::pair(b.target, b.row);
  });
  timeline::join_launches(out_);
  timeline::join_collectives(out_);
  if (out_.launches.size() > launch_keys_.size()) recall_recent();  // of calls: their ranges are found by time
  // Whoever uses the window may divide its activities: what they say of launches is noted before.
  note_arrivals();
  keep_replays();
}

/// Ranges that are not over last for ever, as far as the window knows, unless their ends are known.
void CaptureLoader::add_open_ranges() {
  const std::uint64_t begun = last_key_ >= first_key_ ? last_key_ - first_key_ + 1 : 0;
  const std::size_t rows = first_range_ + begun;
  if (out_.ranges.size() < rows) out_.ranges.grow_to(rows);
  range_count_ = rows;
  end_ranges();
  keys_ = carried_;
  keys_.resize(rows);
  std::iota(keys_.begin() + first_range_, keys_.end(), first_key_);
  open_.assign(rows, false);
  pinned_.resize(rows, kNotPinned);
  assembler_.for_each_open([&](const AssembledRange& range, bool is_lost) {
    const RangeIndex row = own_row(range.key);
    RangeRow open = range_row(range);
    if (!is_lost) {
      open.end_ns = kLatest;
      open.flags = static_cast<std::uint8_t>(open.flags & ~kBeforeRecording);  // it was not over then
    }
    if (windowed_.known_ends != nullptr) {
      const auto& ends = windowed_.known_ends->ends;
      if (const auto known = ends.find(range.key); known != ends.end()) {
        open.end_ns = known->second.end_ns;
        open.flags = known->second.flags;
        open.opened_ns = known->second.opened_ns;
      }
    }
    out_.ranges.set(row, open);
    open_[row] = true;
    if (range.key >= first_key_) under_[row] = range.under;
  });
}

void CaptureLoader::add_window_nodes() {
  assembler_.for_each_to_come(
      [&](const AssembledSequence& sequence) { node_origins_.set_to_come(sequence, running_node(sequence.thread)); });
  std::vector<std::size_t> depth(running_.size(), 0);
  assembler_.for_each_running([&](AssembledNode node) {
    node.end_ticks = kStillOpen;
    const std::vector<std::uint64_t>& numbers = running_[node.thread].numbers;
    const std::size_t at = depth[node.thread]++;
    nodes_.push_back({node, numbers[at], at == 0 ? 0 : numbers[at - 1]});
  });
  if (nodes_.empty()) return;
  add_nodes();
  for (const NodeFacts& node : node_facts_) recalled_nodes_.insert(node.number);
  for (std::size_t row = 0, own = node_facts_.size(); row < own; ++row) {
    recall_ranges(node_facts_[row].range);
    recall_node(node_facts_[row].node);
    recall_node(store_->made_in(node_facts_[row].number));
  }
}

// ---- what rows refer to -----------------------------------------------------------------------------------------

void CaptureLoader::recall_ranges(std::uint64_t key) {
  std::vector<std::pair<std::uint64_t, const WindowStore::Range*>> chain;
  while (key != 0 && recalled_around_.insert(key).second) {
    if (const RangeIndex row = row_of(key); row != kNone) {
      key = under_[row];
      continue;
    }
    const auto found = store_->ranges.find(key);
    if (found == store_->ranges.end()) break;
    chain.emplace_back(key, &found->second);
    key = found->second.under;
  }
  for (; !chain.empty(); chain.pop_back()) {  // outer ones first
    const WindowStore::Range& range = *chain.back().second;
    recalled_[chain.back().first] = RangeIndex(out_.ranges.append(range.row));
    keys_.push_back(chain.back().first);
    open_.push_back(false);
    pinned_.push_back(range.pinned_ns);
    under_.push_back(range.under);
  }
}

/// Host events run ahead of device rows: ranges were over in the window before whose calls come in this one.
void CaptureLoader::recall_recent() {
  for (const std::uint64_t key : recent_) recall_ranges(key);
}

void CaptureLoader::recall_node(std::uint64_t number) {
  std::vector<std::uint64_t> left;
  for (;;) {
    const auto found = store_->nodes.find(number);
    if (found != store_->nodes.end() && recalled_nodes_.insert(number).second) {
      out_.autograd_nodes.append(found->second.row);
      recall_ranges(found->second.range);
      // Whether it made any says what work in its own ranges is.
      if (const std::uint64_t made = store_->made_in(number); made != 0) left.push_back(made);
      number = found->second.node;
      continue;
    }
    if (left.empty()) return;
    number = left.back();
    left.pop_back();
  }
}

void CaptureLoader::recall_launch(const WindowStore::Launch& launch) {
  recall_ranges(launch.range);
  recall_node(launch.node);
  LaunchRow row = launch.row;
  // The range of a call is found by time, as in the whole capture.
  if (launch.range != 0 && row.source == LaunchSource::kCallback) row.range = row_of(launch.range);
  out_.launches.append(row);
  if (windowed_.launch_calls) recall_call(launch);
  launch_keys_.push_back(launch.range);
  launch_is_graph_.push_back(launch.is_graph);
  launch_nodes_.push_back(launch.node);
}

void CaptureLoader::recall_call(const WindowStore::Launch& launch) {
  const std::uint64_t correlation = launch.row.correlation;
  if (const auto call = store_->launch_calls.find(correlation); call != store_->launch_calls.end())
    out_.calls.append(call->second);
  // What is kept of a launch with its graph does not hear of what comes later.
  const auto waiting = store_->waiting.find(correlation);
  recalled_brought_.push_back(launch.last_ns != kNoTime ||
                              (waiting != store_->waiting.end() && waiting->second.last_ns != kNoTime));
}

void CaptureLoader::recall_makers(std::uint64_t node) {
  const auto found = store_->graph_nodes.find(node);
  if (found == store_->graph_nodes.end() || !recalled_graph_nodes_.insert(node).second) return;
  for (const WindowStore::Making& making : found->second) {
    out_.graph_nodes.append(
        {.process = process_, .node = node, .time_ns = making.time_ns, .correlation = making.maker});
    const auto maker = store_->makers.find(making.maker);
    if (maker != store_->makers.end() && maker->second.launch && recalled_launches_.insert(making.maker).second)
      recall_launch(*maker->second.launch);
  }
}

void CaptureLoader::recall_launches() {
  const ActivityTable& activities = out_.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const std::uint64_t correlation = activities.correlation[row];
    if (activities.graph_node[row] != 0) recall_makers(activities.graph_node[row]);
    const auto waiting = store_->waiting.find(correlation);
    const WindowStore::Launch* const launch =
        waiting != store_->waiting.end() ? &waiting->second : store_->find_call(correlation);
    if (launch != nullptr && recalled_launches_.insert(correlation).second) recall_launch(*launch);
  }
}

/// The operations by which launches of graphs as a whole are divided.
void CaptureLoader::recall_replays() {
  if (!windowed_.whole_launches) return;
  std::set<std::uint32_t> graphs;
  for (ActivityIndex row{0}; row < out_.activities.size(); ++row)
    if (out_.activities.kind[row] == ActivityKind::kGraph) graphs.insert(out_.activities.graph[row]);
  for (const std::uint32_t graph : graphs) {
    const auto replay = store_->replays.find(graph);
    if (replay == store_->replays.end()) continue;
    if (recalled_launches_.insert(replay->second.launch.row.correlation).second) recall_launch(replay->second.launch);
    for (const ActivityRow& row : replay->second.activities) out_.activities.append(row);
  }
}

}  // namespace rangefinder::importer
