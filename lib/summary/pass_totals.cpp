// SPDX-License-Identifier: MIT
#include "summary/pass_totals.hpp"

#include "timeline/engine_threads.hpp"

#include <algorithm>

namespace rangefinder::summary {
namespace {

// Tags: a launch in a node by its number, any other by its path.
constexpr std::uint64_t kInNode = std::uint64_t{1} << 63;

}  // namespace

PassTotals::Thread& PassTotals::thread_at(std::uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  return threads_[index];
}

void PassTotals::name_thread(std::uint32_t thread, std::string_view name) {
  thread_at(thread).is_engine = timeline::is_engine_thread(name);
}

// ---- nodes ------------------------------------------------------------------------------------------------------

void PassTotals::begin_node(const importer::AssembledNode& assembled, std::int64_t time_ns) {
  Thread& thread = thread_at(assembled.thread);
  Node node;
  node.outer = thread.levels.back().node;
  node.begin_ns = time_ns;
  node.forward_thread = assembled.forward_thread;
  const std::uint64_t number = nodes_.add(std::move(node));
  unresolved_nodes_.push_back(number);
  thread.levels.push_back({number, 0});
}

void PassTotals::number_node(std::uint32_t thread, std::int64_t sequence) {
  if (Node* const node = nodes_.find(thread_at(thread).levels.back().node); node != nullptr) node->sequence = sequence;
}

void PassTotals::end_node(std::uint32_t index) {
  Thread& thread = thread_at(index);
  if (thread.levels.size() < 2) return;
  const std::uint64_t ended = thread.levels.back().node;
  thread.levels.pop_back();
  if (thread.is_engine) thread.levels.back().before = ended;
}

void PassTotals::take_numbers(const importer::AssembledSequence& sequence, const Site& site) {
  const Level& level = thread_at(sequence.thread).levels.back();
  const Node* const around = nodes_.find(level.running());
  const bool in_own_range = around != nullptr && site.range_began_ns >= around->begin_ns;
  const Numbers taken{sequence.next,     sequence.ticks, site.path,
                      !sequence.resumed, level.node,     in_own_range ? 0 : level.running()};
  Origins& origins = origins_[sequence.forward_thread];
  if (origins.numbers.empty() || sequence.next > origins.numbers.back().end) {
    origins.numbers.push_back(taken);
    if (origins.numbers.size() > kMaxOrigins) {
      origins.first = origins.numbers.front().end;
      origins.numbers.pop_front();
    }
  } else if (sequence.next == origins.numbers.back().end && sequence.ticks > origins.numbers.back().ticks) {
    origins.numbers.back() = taken;  // of a thread that was recorded as two
  }
}

/// Null where it is not known (yet). With `all` a number that no record follows was taken behind the last one.
const PassTotals::Numbers* PassTotals::numbers_of(const Node& node, bool all, bool& is_gone) const {
  const auto found = origins_.find(node.forward_thread);
  if (found == origins_.end()) return is_gone = all, nullptr;
  const auto number = static_cast<std::uint64_t>(node.sequence);
  const auto& numbers = found->second.numbers;
  const auto at = std::upper_bound(numbers.begin(), numbers.end(), number,
                                   [](std::uint64_t value, const Numbers& each) { return value < each.end; });
  is_gone = number < found->second.first || (at == numbers.end() ? all : !at->known);
  return is_gone || at == numbers.end() ? nullptr : &*at;
}

/// It made a node that ran: what is in ranges of its own is a forward pass done again. So for what it runs in.
void PassTotals::mark_maker(std::uint64_t inside) {
  for (Node* node = nodes_.find(inside); node != nullptr && !node->makes_nodes; node = nodes_.find(node->outer)) {
    node->makes_nodes = true;
    for (const auto& [path, duration_ns] : node->own) {
      totals_.add_pass(path, Pass::kBackward, -duration_ns);
      totals_.add_pass(path, Pass::kRecompute, duration_ns);
    }
    node->own = {};
  }
}

void PassTotals::resolve(Node& node, bool all) {
  if (node.origin != Origin::kUnknown) return;
  bool is_gone = node.sequence < 0;
  const Numbers* const numbers = is_gone ? nullptr : numbers_of(node, all, is_gone);
  if (is_gone) node.origin = Origin::kUnmatched;
  if (numbers == nullptr) return;
  std::uint32_t path = numbers->path;
  // Made by a node that ran: its work goes where that one's goes.
  if (Node* const maker = nodes_.find(numbers->maker); maker != nullptr && maker->begin_ns < node.begin_ns) {
    resolve(*maker, all);
    if (maker->origin == Origin::kUnknown) return;
    if (maker->origin == Origin::kMatched) path = maker->path;
  }
  node.path = path;
  node.origin = Origin::kMatched;
  mark_maker(numbers->inside);
}

// ---- launches ---------------------------------------------------------------------------------------------------

std::uint64_t PassTotals::launch(std::uint32_t index, const Site& site) {
  const Level& level = thread_at(index).levels.back();
  if (level.running() == 0) return site.path;
  Launch launch;
  launch.site = site;
  launch.node = level.running();
  const std::uint64_t number = launches_.add(launch);
  waiting_launches_.push_back(number);
  return kInNode | number;
}

void PassTotals::know(Launch& launch, Pass pass, std::uint32_t path) {
  launch.state = Launch::State::kKnown;
  launch.pass = pass;
  launch.path = path;
  for (const auto& [otherwise, duration_ns] : std::exchange(launch.waiting, {})) count(launch, otherwise, duration_ns);
}

void PassTotals::settle_launch(Launch& launch, bool all) {
  Node* const node = nodes_.find(launch.node);
  if (node == nullptr) return know(launch, Pass::kUnmatched, launch.site.path);
  if (node->sequence < 0) return know(launch, Pass::kAccumulation, launch.site.path);
  if (launch.site.range_began_ns != kNoTime && launch.site.range_began_ns >= node->begin_ns) {
    launch.has_own_range = true;
    return know(launch, Pass::kBackward, launch.site.path);
  }
  resolve(*node, all);
  if (node->origin == Origin::kUnmatched) know(launch, Pass::kUnmatched, launch.site.path);
  if (node->origin == Origin::kMatched) know(launch, Pass::kBackward, node->path);
}

void PassTotals::count(Launch& launch, std::uint64_t otherwise, std::int64_t duration_ns) {
  if (launch.state != Launch::State::kKnown) {
    if (launch.waiting.empty() || launch.waiting.back().first != otherwise) launch.waiting.emplace_back(otherwise, 0);
    launch.waiting.back().second += duration_ns;
    return;
  }
  if (launch.path == 0 && otherwise != 0) return activity(otherwise, 0, duration_ns);
  if (duration_ns == 0) return;
  Node* const node = launch.has_own_range ? nodes_.find(launch.node) : nullptr;
  const bool is_recompute = node != nullptr && node->makes_nodes;
  totals_.add_pass(launch.path, is_recompute ? Pass::kRecompute : launch.pass, duration_ns);
  if (node == nullptr || is_recompute) return;
  if (!node->own.empty() && node->own.back().first == launch.path)
    node->own.back().second += duration_ns;
  else
    node->own.emplace_back(launch.path, duration_ns);
}

void PassTotals::activity(std::uint64_t tag, std::uint64_t otherwise, std::int64_t duration_ns) {
  if (tag == 0) std::swap(tag, otherwise);
  if ((tag & kInNode) == 0) return totals_.add_pass(static_cast<std::uint32_t>(tag), Pass::kForward, duration_ns);
  if (Launch* const launch = launches_.find(tag & ~kInNode); launch != nullptr) count(*launch, otherwise, duration_ns);
}

void PassTotals::settle(bool all) {
  std::erase_if(unresolved_nodes_, [&](std::uint64_t number) {
    Node* const node = nodes_.find(number);
    if (node != nullptr) resolve(*node, all);
    return node == nullptr || node->origin != Origin::kUnknown;
  });
  std::erase_if(waiting_launches_, [&](std::uint64_t number) {
    Launch* const launch = launches_.find(number);
    if (launch != nullptr) settle_launch(*launch, all);
    return launch == nullptr || launch->state == Launch::State::kKnown;
  });
  while (launches_.rows.size() > kMaxLaunches) {
    Launch& oldest = launches_.rows.front();
    if (oldest.state != Launch::State::kKnown) know(oldest, Pass::kUnmatched, oldest.site.path);
    launches_.drop_first();
  }
  while (nodes_.rows.size() > kMaxNodes) nodes_.drop_first();
}

}  // namespace rangefinder::summary
