// SPDX-License-Identifier: MIT
#include "source/torch/c10d_calls.hpp"

#include <rangefinder/detail/collectives.hpp>

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::torch {
namespace {

using detail::CollectiveCall;

struct Operator {
  std::string_view name;
  CollectiveKind kind;
  int out, in;      ///< which inputs are what is received and what is sent; -1: none
  int peer;         ///< which input, behind the group, is the root or the other end; -1: none
  bool has_splits;  ///< behind the group: parts received, parts sent
};

// c10d's schemas: torch/csrc/distributed/c10d/Ops.cpp.
constexpr Operator kOperators[] = {
    {"allreduce_", CollectiveKind::kAllReduce, 0, 0, -1, false},
    {"allreduce_coalesced_", CollectiveKind::kAllReduce, 0, 0, -1, false},
    {"allgather_", CollectiveKind::kAllGather, 0, 1, -1, false},
    {"_allgather_base_", CollectiveKind::kAllGather, 0, 1, -1, false},
    {"allgather_coalesced_", CollectiveKind::kAllGather, 0, 1, -1, false},
    {"allgather_into_tensor_coalesced_", CollectiveKind::kAllGather, 0, 1, -1, false},
    {"reduce_scatter_", CollectiveKind::kReduceScatter, 0, 1, -1, false},
    {"_reduce_scatter_base_", CollectiveKind::kReduceScatter, 0, 1, -1, false},
    {"reduce_scatter_tensor_coalesced_", CollectiveKind::kReduceScatter, 0, 1, -1, false},
    {"alltoall_", CollectiveKind::kAllToAll, 0, 1, -1, false},
    {"alltoall_base_", CollectiveKind::kAllToAll, 0, 1, -1, true},
    {"broadcast_", CollectiveKind::kBroadcast, 0, 0, 1, false},
    {"reduce_", CollectiveKind::kReduce, 0, 0, 2, false},
    {"gather_", CollectiveKind::kGather, 0, 1, 1, false},
    {"scatter_", CollectiveKind::kScatter, 0, 1, 1, false},
    {"barrier", CollectiveKind::kBarrier, -1, -1, -1, false},
    {"send", CollectiveKind::kSend, -1, 0, 1, false},
    {"recv_", CollectiveKind::kReceive, 0, -1, 1, false},
    {"recv_any_source_", CollectiveKind::kReceive, 0, -1, -1, false},
};

const Operator* find_operator(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(std::begin(kOperators), std::end(kOperators), [&](const Operator& one) { return one.name == name; });
  return found != std::end(kOperators) ? found : nullptr;
}

/// Elements of a tensor, or of all tensors in a list of them or of lists of them. `type`: of the first one.
std::int64_t elements_of(const c10::IValue& value, const char*& type) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return 0;
    if (type == nullptr) type = c10::toString(tensor.scalar_type());
    return tensor.numel();
  }
  std::int64_t sum = 0;
  if (value.isList())
    for (const c10::IValue& element : value.toListRef()) sum += elements_of(element, type);
  return sum;
}

std::string list_text(const std::vector<std::int64_t>& parts) {
  if (parts.empty()) return {};
  std::string out = "[";
  for (const std::int64_t part : parts) out += (out.size() == 1 ? "" : ", ") + std::to_string(part);
  return out + "]";
}

// ---- groups -----------------------------------------------------------------------------------------------------

/// A process group that was met.
struct Group {
  std::string name;
  std::uint32_t number = 0;               // by collective_group()
  std::atomic<std::int64_t> messages{0};  // sends and receives that its backend counted as collectives
};

/// c10d's number of the next collective; -1: the backend counts none.
std::int64_t count_of(c10d::ProcessGroup& group) noexcept try {
  return static_cast<std::int64_t>(group.getSequenceNumberForGroup());
} catch (...) {
  return -1;
}

std::uint32_t name_group(c10d::ProcessGroup& group) {
  std::vector<std::int64_t> ranks;
  try {
    const auto& told = group.getDefaultBackend()->getBackendOptions()->global_ranks_in_group;
    ranks.assign(told.begin(), told.end());
  } catch (...) {  // a backend without options
  }
  // The default group has all ranks, and says none.
  if (ranks.empty() && group.getGroupDesc() == "default_pg")
    for (std::int64_t rank = 0; rank < group.getSize(); ++rank) ranks.push_back(rank);
  return detail::collective_group({group.getGroupName(), group.getGroupDesc(), ranks.empty() ? nullptr : ranks.data(),
                                   ranks.size(), group.getSize(), group.getRank()});
}

/// By address: a group lives as long as it communicates, and its name tells it from a later one at the same address.
/// What is given stays until the process ends.
Group& find_group(c10d::ProcessGroup& group) {
  static auto& mutex = *new std::mutex;  // callbacks may come while the process ends
  static auto& known = *new std::unordered_map<const c10d::ProcessGroup*, Group*>;
  const std::lock_guard lock(mutex);
  Group*& found = known[&group];
  if (found == nullptr || found->name != group.getGroupName()) {
    auto made = std::make_unique<Group>();
    made->name = group.getGroupName();
    made->number = name_group(group);
    found = made.release();
  }
  return *found;
}

/// A send or receive that is being called. The group's count tells, once it was, whether the backend counts it too.
struct Message {
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  Group& of;
  std::int64_t count_before;
};

void take_group(CollectiveCall& call, const Operator& known, c10::intrusive_ptr<c10d::ProcessGroup> group,
                BegunCall& begun) {
  Group& of = find_group(*group);
  call.group = of.number;
  const std::int64_t count = count_of(*group);
  if (known.kind == CollectiveKind::kSend || known.kind == CollectiveKind::kReceive)
    begun.messages_of = count >= 0 ? new Message{std::move(group), of, count} : nullptr;
  else
    call.number = std::max<std::int64_t>(count - of.messages.load(std::memory_order_relaxed), -1);
}

// ---- what backends tell -----------------------------------------------------------------------------------------

const ::torch::ParamCommsDebugInfo* told_info() noexcept {
  return dynamic_cast<const ::torch::ParamCommsDebugInfo*>(
      c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PARAM_COMMS_INFO));
}

/// c10d's names of what backends tell begin like those of its operators, without the last "_" and with variants behind.
CollectiveKind told_kind(std::string_view name) noexcept {
  const Operator* best = nullptr;
  for (const Operator& one : kOperators) {
    std::string_view stem = one.name;
    if (stem.ends_with('_')) stem.remove_suffix(1);
    if (name.starts_with(stem) && (best == nullptr || one.name.size() > best->name.size())) best = &one;
  }
  if (best != nullptr) return best->kind;
  if (name.starts_with("all_to_all")) return CollectiveKind::kAllToAll;
  if (name.starts_with("all_gather")) return CollectiveKind::kAllGather;
  if (name.starts_with("recv")) return CollectiveKind::kReceive;
  return CollectiveKind::kOther;
}

/// What waiting is told by: a group's number of a call, collectives and messages apart.
struct ToldNumber {
  std::size_t group = 0;  // hash of its name
  std::int64_t number = -1;
  bool is_message = false;
  bool operator==(const ToldNumber&) const = default;
  std::size_t place(std::size_t places) const noexcept {
    return (group + static_cast<std::size_t>(number) * 2 + (is_message ? 1 : 0)) % places;
  }
};

/// From the inputs of record_param_comms: behind tensors, if any, the number and whether it is one of messages.
ToldNumber told_number(const at::RecordFunction& function, const ::torch::ParamCommsDebugInfo& info) {
  for (const c10::IValue& input : function.inputs()) {
    if (!input.isTuple()) continue;
    const auto& elements = input.toTupleRef().elements();
    if (elements.size() != 2 || !elements[0].isInt() || !elements[1].isBool()) return {};
    return {std::hash<std::string>()(info.getProcessGroupName()), elements[0].toInt(), elements[1].toBool()};
  }
  return {};
}

/// Calls that may still be waited for: the newest.
class ToldCalls {
 public:
  void add(const ToldNumber& number, std::uint32_t handle) {
    const std::lock_guard lock(mutex_);
    calls_[number.place(kCalls)] = {number, handle};
  }
  std::uint32_t find(const ToldNumber& number) {
    const std::lock_guard lock(mutex_);
    const auto& [known, handle] = calls_[number.place(kCalls)];
    return known == number ? handle : 0;
  }

 private:
  static constexpr std::size_t kCalls = 4096;
  std::mutex mutex_;
  std::array<std::pair<ToldNumber, std::uint32_t>, kCalls> calls_;
};

ToldCalls& told_calls() {
  static auto& calls = *new ToldCalls;  // as with groups
  return calls;
}

}  // namespace

BegunCall begin_operator_call(const at::RecordFunction& function, std::string_view name) {
  const Operator* const known = find_operator(name);
  if (known == nullptr) return {};
  const c10::ArrayRef<const c10::IValue> inputs = function.inputs();
  const auto at = [&](std::size_t i) { return i < inputs.size() ? &inputs[i] : nullptr; };
  CollectiveCall call;
  call.kind = known->kind;
  call.name = name;
  const char* type = nullptr;
  if (known->in >= 0 && at(known->in) != nullptr) call.elements_in = elements_of(*at(known->in), type);
  if (known->out >= 0 && at(known->out) != nullptr) call.elements_out = elements_of(*at(known->out), type);
  if (type != nullptr) call.dtype = type;
  std::size_t group_at = 0;
  while (group_at < inputs.size() && !inputs[group_at].isCustomClass()) ++group_at;
  BegunCall begun;
  std::string in_splits, out_splits;
  if (group_at < inputs.size()) {
    take_group(call, *known, inputs[group_at].toCustomClass<c10d::ProcessGroup>(), begun);
    const c10::IValue* const peer = known->peer >= 0 ? at(group_at + known->peer) : nullptr;
    if (peer != nullptr && peer->isInt()) call.peer = static_cast<std::int32_t>(peer->toInt());
    const auto parts = [&](const c10::IValue* list) {
      return known->has_splits && list != nullptr && list->isIntList() ? list_text(list->toIntVector()) : "";
    };
    out_splits = parts(at(group_at + 1));
    in_splits = parts(at(group_at + 2));
  }
  call.in_splits = in_splits;
  call.out_splits = out_splits;
  begun.handle = detail::begin_collective(call);
  return begun;
}

void end_message(void* messages_of) noexcept {
  const std::unique_ptr<Message> message(static_cast<Message*>(messages_of));
  if (message == nullptr) return;
  const std::int64_t counted = count_of(*message->group) - message->count_before;
  if (counted > 0) message->of.messages.fetch_add(counted, std::memory_order_relaxed);
}

std::uint32_t begin_told_call() {
  const ::torch::ParamCommsDebugInfo* const info = told_info();
  if (info == nullptr) return 0;
  const std::string name = info->getCollectiveName(), group = info->getProcessGroupName(),
                    description = info->getProcessGroupDesc();
  CollectiveCall call;
  call.kind = told_kind(name);
  if (call.kind == CollectiveKind::kOther) return 0;  // a wait, or the making of a communicator
  call.name = name;
  call.elements_in = info->getInMessageNelems();
  call.elements_out = info->getOutMessageNelems();
  call.dtype = c10::toString(info->getDType());
  const std::string in_splits = list_text(info->getInputSplitSizes()),
                    out_splits = list_text(info->getOutputSplitSizes());
  call.in_splits = in_splits;
  call.out_splits = out_splits;
  const std::vector<std::int64_t>& ranks = info->getGroupRanks();
  call.group = detail::collective_group({group, description, ranks.empty() ? nullptr : ranks.data(), ranks.size(),
                                         info->getWorldSize(), info->getRank()});
  return detail::begin_collective(call);
}

void remember_told(const at::RecordFunction& function, std::uint32_t handle) {
  const ::torch::ParamCommsDebugInfo* const info = told_info();
  if (info == nullptr) return;
  if (const ToldNumber number = told_number(function, *info); number.number >= 0) told_calls().add(number, handle);
}

std::uint32_t find_told_wait(const at::RecordFunction& function) {
  const ::torch::ParamCommsDebugInfo* const info = told_info();
  if (info == nullptr || info->getCollectiveName() != "wait") return 0;
  const ToldNumber number = told_number(function, *info);
  return number.number >= 0 ? told_calls().find(number) : 0;
}

}  // namespace rangefinder::torch
