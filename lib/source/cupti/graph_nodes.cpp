// SPDX-License-Identifier: MIT
#include "source/cupti/graph_nodes.hpp"

#include "base/never_destroyed.hpp"
#include "buffer/held_records.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace rangefinder::source::cupti {
namespace {

// CU_GRAPH_NODE_TYPE_CONDITIONAL of CUDA 12.3 and newer. CUPTI 13.0 says 0 of every node.
constexpr auto kConditional = static_cast<CUgraphNodeType>(13);

/// The two handles that parameters of functions begin with.
struct TwoHandles {
  void* first;
  void* second;
};

std::optional<TwoHandles> handles_of(const CUpti_CallbackData& data) noexcept {
  const bool done =
      data.functionReturnValue == nullptr || *static_cast<const std::uint32_t*>(data.functionReturnValue) == 0;
  if (data.callbackSite != CUPTI_API_EXIT || data.functionParams == nullptr || !done) return std::nullopt;
  return *static_cast<const TwoHandles*>(data.functionParams);
}

/// Where the node is among members in the order of their numbers, or would be.
template <typename Members>
auto place_of(Members& members, std::uint64_t node) noexcept {
  return std::lower_bound(members.begin(), members.end(), node,
                          [](const auto& one, std::uint64_t wanted) { return one.node < wanted; });
}

constexpr std::uint64_t node_id(std::uint32_t graph, std::size_t number) noexcept {
  return std::uint64_t{graph} << 32 | number;
}

}  // namespace

GraphNodes& graph_nodes() noexcept {
  static base::NeverDestroyed<GraphNodes> nodes;
  return *nodes;
}

void GraphNodes::watch(const CuptiApi& api, RealtimeClock realtime) noexcept {
  {
    const std::lock_guard lock(mutex_);
    realtime_ = realtime;
  }
  graph_id_.store(api.cuptiGetGraphId, std::memory_order_relaxed);
  exec_id_.store(api.cuptiGetGraphExecId, std::memory_order_relaxed);
  node_id_.store(api.cuptiGetGraphNodeId, std::memory_order_relaxed);
  buffer::HeldRecords::instance().ask_for_notes_in_use([] { return graph_nodes().notes_in_use(); });
}

void GraphNodes::stop_watching() noexcept {
  const std::lock_guard lock(mutex_);
  missed_updates_.store(!nodes_.empty(), std::memory_order_relaxed);
  copies_.fill({});
  whole_ = false;
}

void GraphNodes::begin() noexcept try {
  const std::lock_guard lock(mutex_);
  recording_ = true;
  for (const auto& [node, known] : nodes_) report(node, known);
} catch (const std::exception&) {  // no memory
  const std::lock_guard lock(mutex_);
  ++news_.dropped;
}

void GraphNodes::end() noexcept {
  const std::lock_guard lock(mutex_);
  recording_ = false;
  news_ = {};
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    const auto next = std::next(node);
    node->second.maker.call = 0;
    if (!node->second.says_anything()) go(node);
    node = next;
  }
}

GraphNodes::News GraphNodes::take_news() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

// Made to be called from inside a callback (cupti_callbacks.h), as the other two.
template <typename Ask, typename Thing, typename Id>
Id GraphNodes::ask_id(const std::atomic<Ask>& function, Thing thing, Id none) noexcept {
  const Ask ask = function.load(std::memory_order_relaxed);
  Id id = none;
  return thing != nullptr && ask != nullptr && ask(thing, &id) == CUPTI_SUCCESS ? id : none;
}

std::uint64_t GraphNodes::id_of(CUgraphNode node) const noexcept { return ask_id(node_id_, node, std::uint64_t{0}); }

/// Inside of an instantiation that is the executable graph's, by which its launches are recorded.
std::uint32_t GraphNodes::graph_of(const CUpti_GraphData& data) const noexcept {
  // What is said to be its own original may be destroyed while the copy lives on: better not known.
  return data.graph == data.originalGraph ? 0 : ask_id(graph_id_, data.graph, std::uint32_t{0});
}

GraphNodes::Maker GraphNodes::maker_of_new() noexcept {
  return {noted_call(), buffer::HeldRecords::instance().note_node()};
}

void GraphNodes::on_callback(CUpti_CallbackId id, const CUpti_GraphData& data) noexcept {
  const auto graph = [&] { return ask_id(graph_id_, data.graph, std::uint32_t{0}); };
  const auto exec = [&] { return ask_id(exec_id_, data.graphExec, std::uint32_t{0}); };
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPH_CREATED:
      return open_graph(graph());
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
      return instantiated(graph(), exec());
    // Nodes may be announced one by one as well, or not.
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
      return destroy_graph(graph());
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
      return destroy_graph(exec());
    default:
      if (const std::uint64_t node = id_of(data.node); node != 0) on_node(id, data, node);
  }
}

void GraphNodes::on_node(CUpti_CallbackId id, const CUpti_GraphData& data, std::uint64_t node) noexcept {
  const bool conditional = data.nodeType == kConditional;
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      any_seen_.store(true, std::memory_order_relaxed);
      return create(node, {maker_of_new(), graph_of(data), conditional});
    // Cloning and instantiating announce each new node as created and then as cloned: the second counts, also where the
    // original is not known. Else the body of a child graph would belong to the call that adds it.
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      return copy(id_of(data.originalNode), node, {{}, graph_of(data), conditional});
    // The node of an executable graph stays and does from now on what the other graph's node does.
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
      if (data.originalNode != nullptr && data.originalNode != data.node) update(id_of(data.originalNode), node);
      return;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      return destroy(graph_of(data), node);
    default:
      return;
  }
}

void GraphNodes::create(std::uint64_t node, Node made) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint32_t body = take_body(made.graph);
  const bool conditions = add_member(made.graph, node, body);
  made.conditional = made.conditional || (body != 0 && conditions);
  note(node, made);
}

void GraphNodes::copy(std::uint64_t original, std::uint64_t node, const Node& made) noexcept {
  const std::lock_guard lock(mutex_);
  if (Member* const member = find_member(made.graph, node)) member->cloned = true;
  Node now = made;
  if (const auto from = nodes_.find(original); from != nodes_.end()) {
    now.maker = from->second.maker;
    now.conditional = now.conditional || from->second.conditional;
  }
  note(node, now);
}

void GraphNodes::update(std::uint64_t original, std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  const auto from = nodes_.find(original);
  const auto known = nodes_.find(node);
  Node now = known != nodes_.end() ? known->second : Node();
  now.maker = from != nodes_.end() ? from->second.maker : Maker();
  note(node, now);
}

void GraphNodes::destroy(std::uint32_t graph, std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto known = nodes_.find(node); known != nodes_.end()) go(known);
  Member* const member = find_member(graph, node);
  if (member == nullptr) return;
  member->gone = true;
  const auto found = graphs_.find(graph);
  // An instantiation may end with all announced nodes gone, and others behind them.
  if (--found->second.alive > 0 || copies_here() != nullptr) return;
  members_ -= found->second.members.size();
  graphs_.erase(found);
}

void GraphNodes::destroy_graph(std::uint32_t graph) noexcept {
  const std::lock_guard lock(mutex_);
  unwhole_.erase(graph);
  const auto found = graphs_.find(graph);
  if (graph == 0 || found == graphs_.end()) return;
  for (const Member& member : found->second.members) {
    if (const auto known = nodes_.find(member.node); known != nodes_.end() && known->second.graph == graph) go(known);
  }
  members_ -= found->second.members.size();
  graphs_.erase(found);
}

/// Its rows stay in the capture, so that records which come later find them.
void GraphNodes::go(Nodes::iterator node) noexcept {
  Node last = node->second;
  const std::uint64_t id = node->first;
  nodes_.erase(node);
  try {
    last.time_ns = realtime_ != nullptr && recording_ ? realtime_() : 0;
    report(id, last, format::kGraphNodeGone);
  } catch (const std::exception&) {  // no memory: who follows the recording remembers it for longer
  }
}

// ---- graphs ----------------------------------------------------------------------------------------------------

/// True where the graph has handles of conditional nodes.
bool GraphNodes::add_member(std::uint32_t graph, std::uint64_t node, std::uint32_t body) noexcept try {
  if (graph == 0) return false;
  if (members_ >= kMaxNodes) {
    incomplete_ = true;
    return false;
  }
  Graph& found = graphs_[graph];
  found.members.push_back({node, body});
  ++found.alive;
  ++members_;
  return found.has_conditions;
} catch (const std::exception&) {  // no memory
  incomplete_ = true;
  return false;
}

GraphNodes::Member* GraphNodes::find_member(std::uint32_t graph, std::uint64_t node) noexcept {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return nullptr;
  std::vector<Member>& members = found->second.members;
  const auto member = place_of(members, node);
  return member != members.end() && member->node == node && !member->gone ? &*member : nullptr;
}

/// What made each node of an executable graph that is made of this one, in the order of their numbers.
std::optional<std::vector<GraphNodes::Maker>> GraphNodes::makers_of(std::uint32_t graph) const {
  if (graph == 0 || incomplete_) return std::nullopt;
  std::vector<Maker> makers;
  std::vector<std::uint32_t> wanted = {graph};
  for (std::size_t next = 0; next < wanted.size(); ++next) {
    const auto found = graphs_.find(wanted[next]);
    if (found == graphs_.end()) continue;  // it is empty
    for (const Member& member : found->second.members) {
      if (member.gone) continue;
      if (makers.size() >= kMaxNodes) return std::nullopt;
      const auto known = nodes_.find(member.node);
      makers.push_back(known != nodes_.end() ? known->second.maker : Maker());
      if (member.body != 0) wanted.push_back(member.body);
    }
  }
  return makers;
}

/// Whether copies of the graph's nodes are the first of the executable graph, numbered in order.
bool GraphNodes::is_numbered(std::uint32_t exec, std::uint32_t graph) const {
  const auto from = graphs_.find(graph);
  const auto to = graphs_.find(exec);
  if (from == graphs_.end() || to == graphs_.end()) return false;
  std::size_t number = 0;
  for (const Member& member : to->second.members) {
    if (!member.cloned) continue;
    if (member.node != node_id(exec, number)) return false;
    ++number;
  }
  return number == from->second.alive;
}

void GraphNodes::instantiated(std::uint32_t graph, std::uint32_t exec) noexcept try {
  if (exec == 0) return;
  const std::lock_guard lock(mutex_);
  const Copies* const copies = copies_here();
  const bool all_the_time = copies != nullptr && copies->whole == whole_changes_;
  if (!whole_ || !all_the_time) unwhole_.insert(exec);
  const std::optional<std::vector<Maker>> makers = makers_of(graph);
  if (!makers || !is_numbered(exec, graph)) return;
  Graph& made = graphs_[exec];
  made.instantiated = makers->size();
  for (std::size_t number = graphs_[graph].alive; number < makers->size(); ++number) {
    const std::uint64_t node = node_id(exec, number);
    // The driver's own nodes of the executable graph may have been announced meanwhile, with higher numbers.
    made.members.insert(place_of(made.members, node), {.node = node});
    ++made.alive;
    ++members_;
    note(node, {(*makers)[number], exec});
  }
} catch (const std::exception&) {  // no memory
  const std::lock_guard lock(mutex_);
  ++news_.dropped;
}

void GraphNodes::updated(std::uint32_t exec, std::uint32_t graph) noexcept try {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(exec);
  if (exec == 0 || found == graphs_.end()) return;
  const std::optional<std::vector<Maker>> makers = makers_of(graph);
  const bool alike = makers && found->second.instantiated == makers->size();
  std::vector<Member>& members = found->second.members;
  for (const Member& member : members) {
    const std::size_t number = member.node - node_id(exec, 0);
    const auto known = nodes_.find(member.node);
    Node now = known != nodes_.end() ? known->second : Node{.graph = exec};
    now.maker = alike && number < makers->size() ? (*makers)[number] : Maker();
    note(member.node, now);
  }
} catch (const std::exception&) {  // no memory
  const std::lock_guard lock(mutex_);
  ++news_.dropped;
}

void GraphNodes::on_call(GraphCall call, const CUpti_CallbackData& data) noexcept {
  if (call == GraphCall::kUpdates) {
    const std::optional<TwoHandles> handles = handles_of(data);
    if (!handles) return;
    const auto exec = static_cast<CUgraphExec>(handles->first);
    const auto graph = static_cast<CUgraph>(handles->second);
    return updated(ask_id(exec_id_, exec, std::uint32_t{0}), ask_id(graph_id_, graph, std::uint32_t{0}));
  }
  if (call == GraphCall::kMakesCondition) {
    const std::optional<TwoHandles> handles = handles_of(data);
    if (!handles) return;
    const auto graph = static_cast<CUgraph>(handles->second);
    const std::uint32_t id = ask_id(graph_id_, graph, std::uint32_t{0});
    const std::lock_guard lock(mutex_);
    try {
      if (id != 0) graphs_[id].has_conditions = true;
    } catch (const std::exception&) {  // no memory: its counts are taken to be exact
    }
    return;
  }
  const std::lock_guard lock(mutex_);
  Copies* copies = copies_here();
  if (data.callbackSite == CUPTI_API_EXIT) {
    if (copies != nullptr && --copies->depth == 0) *copies = {};
    return;
  }
  if (copies != nullptr) return void(++copies->depth);
  const auto free = std::find_if(copies_.begin(), copies_.end(), [](const Copies& one) { return one.depth == 0; });
  if (free == copies_.end()) return;
  *free = {.thread = ::pthread_self(), .depth = 1, .whole = whole_ ? whole_changes_ : 0};
}

/// What the calling thread is inside of; null: nothing.
GraphNodes::Copies* GraphNodes::copies_here() noexcept {
  const pthread_t self = ::pthread_self();
  const auto found = std::find_if(copies_.begin(), copies_.end(), [self](const Copies& one) {
    return one.depth > 0 && ::pthread_equal(one.thread, self) != 0;
  });
  return found != copies_.end() ? &*found : nullptr;
}

void GraphNodes::open_graph(std::uint32_t graph) noexcept {
  const std::lock_guard lock(mutex_);
  Copies* const copies = copies_here();
  if (copies != nullptr && graph != 0 && copies->open < copies->graphs.size()) copies->graphs[copies->open++] = graph;
}

/// The graph that was made for the new node of `graph`; 0: none.
std::uint32_t GraphNodes::take_body(std::uint32_t graph) noexcept {
  Copies* const copies = copies_here();
  if (copies == nullptr) return 0;
  const auto begin = copies->graphs.begin(), end = begin + copies->open;
  const auto own = std::find(begin, end, graph);
  const auto body = own == end ? begin : own + 1;
  if (body == end) return 0;
  copies->open = static_cast<std::uint32_t>(body - begin);
  return *body;
}

void GraphNodes::set_whole(bool on) noexcept {
  const std::lock_guard lock(mutex_);
  if (whole_ == on) return;
  whole_ = on;
  ++whole_changes_;
}

bool GraphNodes::must_be_nodes() noexcept {
  const std::lock_guard lock(mutex_);
  return !execs_known_ || !unwhole_.empty();
}

bool GraphNodes::may_be_whole() noexcept {
  const std::lock_guard lock(mutex_);
  return execs_known_ && unwhole_.empty() &&
         std::none_of(copies_.begin(), copies_.end(), [](const Copies& one) { return one.depth > 0; });
}

void GraphNodes::execs_are_unknown() noexcept {
  const std::lock_guard lock(mutex_);
  execs_known_ = false;
}

// ---- notes -----------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> GraphNodes::notes_in_use() {
  std::vector<std::uint32_t> notes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [node, known] : nodes_)
      if (known.maker.note != 0) notes.push_back(known.maker.note);
  }
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return notes;
}

void GraphNodes::forget() noexcept {
  const std::lock_guard lock(mutex_);
  nodes_.clear();
  graphs_.clear();
  unwhole_.clear();
  members_ = 0;
  copies_.fill({});
  incomplete_ = whole_ = false;
  execs_known_ = true;
  news_ = {};
  missed_updates_ = any_seen_ = false;
}

void GraphNodes::note(std::uint64_t node, Node now) noexcept try {
  const auto known = nodes_.find(node);
  const bool is_new = known == nodes_.end();
  if (is_new ? !now.says_anything() : known->second.same_as(now)) return;
  if (is_new && nodes_.size() >= kMaxNodes) {
    ++news_.dropped;
    return;
  }
  now.time_ns = realtime_();
  report(node, now);
  if (now.says_anything())
    nodes_.insert_or_assign(node, now);
  else
    nodes_.erase(known);
} catch (const std::exception&) {  // no memory
  ++news_.dropped;
}

void GraphNodes::report(std::uint64_t node, const Node& known, std::uint32_t flags) {
  if (!recording_) return;
  if (news_.rows.size() >= kMaxNodes) {
    ++news_.dropped;
    return;
  }
  if (known.conditional) flags |= format::kGraphNodeConditional;
  news_.rows.push_back({known.time_ns, node, known.maker.call, known.maker.note, known.graph, flags});
}

}  // namespace rangefinder::source::cupti
