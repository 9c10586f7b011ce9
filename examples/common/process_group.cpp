// SPDX-License-Identifier: MIT
#include "common/process_group.hpp"

#include "common/process_group_backends.hpp"

#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/torch/collectives.hpp>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <utility>

namespace examples {
namespace {

using rangefinder::ProfileRange;
using rangefinder::bench::WaitForRanks;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeout{60'000};

const rangefinder::RangeName& range_of(Communication kind) {
  static const std::array<rangefinder::RangeName, kCommunications> names{
      rangefinder::RangeName{"all_reduce"}, rangefinder::RangeName{"all_gather"},
      rangefinder::RangeName{"reduce_scatter"}, rangefinder::RangeName{"all_to_all"},
      rangefinder::RangeName{"exchange"}};
  return names[static_cast<std::size_t>(kind)];
}

std::int64_t bytes_of(const torch::Tensor& tensor) { return static_cast<std::int64_t>(tensor.nbytes()); }

/// The same memory, for c10d: without a place in the graph of autograd, which does not know c10d's operators.
torch::Tensor plain(const torch::Tensor& tensor) {
  TORCH_CHECK(tensor.is_contiguous(), "a collective takes contiguous tensors");
  return tensor.detach();
}

}  // namespace

const char* to_string(Communication kind) noexcept {
  switch (kind) {
    case Communication::kAllReduce:
      return "all_reduce";
    case Communication::kAllGather:
      return "all_gather";
    case Communication::kReduceScatter:
      return "reduce_scatter";
    case Communication::kAllToAll:
      return "all_to_all";
    case Communication::kSend:
      return "send";
  }
  return "?";
}

double Traffic::least_sent_bytes(int ranks) const {
  const auto bytes = [this](Communication kind) { return static_cast<double>((*this)[kind].bytes); };
  const double others = ranks - 1;
  // The one division comes last: bytes of tensors whose sizes the ranks divide come out whole.
  return others * (2 * bytes(Communication::kAllReduce) + bytes(Communication::kReduceScatter)) / ranks +
         others * bytes(Communication::kAllGather) + bytes(Communication::kAllToAll) - static_cast<double>(own_bytes) +
         bytes(Communication::kSend);
}

std::string to_string(const Traffic& traffic) {
  std::string text;
  for (std::size_t i = 0; i < kCommunications; ++i) {
    if (traffic.of[i].calls == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(static_cast<Communication>(i))) + " " +
            std::to_string(traffic.of[i].calls) + " calls " + std::to_string(traffic.of[i].bytes) + " bytes";
  }
  if (traffic.own_bytes != 0) text += ", own " + std::to_string(traffic.own_bytes) + " bytes";
  return text.empty() ? "nothing" : text;
}

struct ProcessGroupState {
  int rank = 0;
  int ranks = 1;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  torch::Device device{torch::kCPU};
  Traffic traffic;
  std::int64_t wait_ns = 0;

  c10d::ProcessGroup& counted(Communication kind, const torch::Tensor& given) {
    TORCH_CHECK(group, "a single process has nobody to call ", to_string(kind), " with");
    ++traffic[kind].calls;
    traffic[kind].bytes += bytes_of(given);
    return *group;
  }
};

struct Pending::State {
  c10::intrusive_ptr<c10d::Work> work;
  std::shared_ptr<ProcessGroupState> group;
  std::vector<torch::Tensor> tensors;  // Gloo's work on messages refers to them, and does not keep them
  rangefinder::torch::CalledCollective called{};
};

Pending::Pending() = default;
Pending::Pending(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pending::Pending(Pending&&) noexcept = default;
Pending& Pending::operator=(Pending&&) noexcept = default;
Pending::~Pending() = default;

void Pending::wait() {
  if (state_ == nullptr) return;
  static const rangefinder::RangeName kWait{"wait"};
  const ProfileRange range{kWait};
  const WaitForRanks waiting;
  const rangefinder::torch::WaitForCollective for_collective(state_->called);
  const auto begin = Clock::now();
  state_->work->wait();
  state_->group->wait_ns += std::chrono::nanoseconds(Clock::now() - begin).count();
  state_.reset();
}

ProcessGroup::ProcessGroup() : state_(std::make_shared<ProcessGroupState>()) {}
ProcessGroup::ProcessGroup(ProcessGroup&&) noexcept = default;
ProcessGroup& ProcessGroup::operator=(ProcessGroup&&) noexcept = default;
ProcessGroup::~ProcessGroup() = default;

ProcessGroup::ProcessGroup(const std::string& store, int rank, int ranks, torch::Device device) : ProcessGroup() {
  using Type = c10d::ProcessGroup::BackendType;
  state_->rank = rank;
  state_->ranks = ranks;
  state_->device = device;
  if (ranks == 1) return;
  const WaitForRanks waiting;
  const c10::intrusive_ptr<c10d::Store> file = c10::make_intrusive<c10d::FileStore>(store, ranks);
  const BackendOptions options{file, rank, ranks, kTimeout};
  const Type type = device.is_cuda() ? Type::NCCL : Type::GLOO;
  auto group = c10::make_intrusive<c10d::ProcessGroup>(file, rank, ranks);
  group->setBackend(device.type(), type, device.is_cuda() ? make_nccl(options) : make_gloo(options));
  group->setDefaultBackend(type);
  group->setGroupName("0");
  group->setGroupDesc("default_pg");
  state_->group = std::move(group);
}

std::string ProcessGroup::missing(const std::string& device, int ranks) {
  if (ranks <= 1) return {};
  if (device != "cuda") return has_gloo() ? "" : "feature_not_built: this LibTorch was built without Gloo";
  if (!has_nccl()) return "needs_nccl: this LibTorch was built without NCCL, or nccl.h was not found";
  const auto devices = static_cast<int>(torch::cuda::device_count());
  if (devices == 0) return "no_cuda_device";
  // NCCL refuses two ranks on one device.
  if (devices >= ranks) return {};
  return "needs_world_size_" + std::to_string(ranks) + ": a device for each rank, and there are " +
         std::to_string(devices);
}

int ProcessGroup::rank() const { return state_->rank; }
int ProcessGroup::size() const { return state_->ranks; }

Pending ProcessGroup::all_reduce(const torch::Tensor& tensor) {
  const ProfileRange range{range_of(Communication::kAllReduce)};
  std::vector<torch::Tensor> tensors{plain(tensor)};
  auto work = state_->counted(Communication::kAllReduce, tensor).allreduce(tensors);
  return Pending(std::make_unique<Pending::State>(Pending::State{std::move(work), state_, std::move(tensors)}));
}

Pending ProcessGroup::all_gather(const torch::Tensor& whole, const torch::Tensor& part) {
  const ProfileRange range{range_of(Communication::kAllGather)};
  std::vector<torch::Tensor> tensors{plain(whole), plain(part)};
  auto work = state_->counted(Communication::kAllGather, part)._allgather_base(tensors[0], tensors[1]);
  return Pending(std::make_unique<Pending::State>(Pending::State{std::move(work), state_, std::move(tensors)}));
}

Pending ProcessGroup::reduce_scatter(const torch::Tensor& part, const torch::Tensor& whole) {
  const ProfileRange range{range_of(Communication::kReduceScatter)};
  std::vector<torch::Tensor> tensors{plain(part), plain(whole)};
  auto work = state_->counted(Communication::kReduceScatter, whole)._reduce_scatter_base(tensors[0], tensors[1]);
  return Pending(std::make_unique<Pending::State>(Pending::State{std::move(work), state_, std::move(tensors)}));
}

Pending ProcessGroup::all_to_all(const torch::Tensor& out, const torch::Tensor& in, std::vector<std::int64_t> out_rows,
                                 std::vector<std::int64_t> in_rows) {
  const ProfileRange range{range_of(Communication::kAllToAll)};
  std::vector<torch::Tensor> tensors{plain(out), plain(in)};
  const std::int64_t row_bytes = in.size(0) == 0 ? 0 : bytes_of(in) / in.size(0);
  auto& group = state_->counted(Communication::kAllToAll, in);
  state_->traffic.own_bytes += row_bytes * in_rows.at(static_cast<std::size_t>(state_->rank));
  auto work = group.alltoall_base(tensors[0], tensors[1], out_rows, in_rows);
  return Pending(std::make_unique<Pending::State>(Pending::State{std::move(work), state_, std::move(tensors)}));
}

std::vector<Pending> ProcessGroup::exchange(const std::vector<Message>& sends, const std::vector<Message>& receives) {
  const ProfileRange range{range_of(Communication::kSend)};
  TORCH_CHECK(state_->group, "a single process has nobody to exchange messages with");
  const bool together = state_->device.is_cuda() && sends.size() + receives.size() > 1;
  if (together) state_->group->startCoalescing(state_->device.type());
  std::vector<Pending> pending;
  std::vector<torch::Tensor> all;
  const auto add = [&](c10::intrusive_ptr<c10d::Work> work, std::vector<torch::Tensor> tensors) {
    if (together)
      all.insert(all.end(), tensors.begin(), tensors.end());
    else
      pending.push_back(
          Pending(std::make_unique<Pending::State>(Pending::State{std::move(work), state_, std::move(tensors)})));
  };
  for (const Message& message : receives) {
    std::vector<torch::Tensor> tensors{plain(message.tensor)};
    auto work = state_->group->recv(tensors, message.peer, message.tag);
    add(std::move(work), std::move(tensors));
  }
  for (const Message& message : sends) {
    std::vector<torch::Tensor> tensors{plain(message.tensor)};
    auto work = state_->counted(Communication::kSend, message.tensor).send(tensors, message.peer, message.tag);
    add(std::move(work), std::move(tensors));
  }
  if (together)
    pending.push_back(Pending(std::make_unique<Pending::State>(
        Pending::State{state_->group->endCoalescing(state_->device.type()), state_, std::move(all)})));
  return pending;
}

void ProcessGroup::barrier() {
  TORCH_CHECK(state_->group, "a single process has nobody to wait for");
  const WaitForRanks waiting;
  state_->group->barrier()->wait();
}

const Traffic& ProcessGroup::traffic() const { return state_->traffic; }
std::int64_t ProcessGroup::wait_ns() const { return state_->wait_ns; }
void ProcessGroup::reset_counts() {
  state_->traffic = {};
  state_->wait_ns = 0;
}

}  // namespace examples
