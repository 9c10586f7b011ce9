// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace examples {

/// What ranks do together, or two of them with each other.
enum class Communication : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kSend };
inline constexpr std::size_t kCommunications = 5;

/// "all_reduce"
const char* to_string(Communication kind) noexcept;

/// What this rank asked for, counted from shapes and types: it does not depend on the algorithm of a backend.
struct Traffic {
  struct Count {
    std::int64_t calls = 0;
    std::int64_t bytes = 0;  ///< that this rank gave: elements of its input x size of one
    bool operator==(const Count&) const = default;
  };
  std::array<Count, kCommunications> of{};

  Count& operator[](Communication kind) { return of[static_cast<std::size_t>(kind)]; }
  const Count& operator[](Communication kind) const { return of[static_cast<std::size_t>(kind)]; }
  bool operator==(const Traffic&) const = default;

  /// Bytes that a rank of `ranks` must send to others at least, by the best algorithm for large messages: of an
  /// all-reduce of S bytes 2 S (ranks - 1) / ranks, of a reduce-scatter of S bytes S (ranks - 1) / ranks, of an
  /// all-gather of a shard of S bytes S (ranks - 1). What an all-to-all keeps for itself is `own_bytes`.
  double least_sent_bytes(int ranks) const;
  std::int64_t own_bytes = 0;
};

/// "all_reduce 3 calls 1200 bytes, send 1 call 8 bytes"
std::string to_string(const Traffic& traffic);

struct ProcessGroupState;

/// A collective that has begun. Its tensors must not be touched before `wait`; they are kept alive.
class Pending {
 public:
  Pending();
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();
  /// Returns when the result is there; on a device, when later work of the current stream will find it. Does nothing
  /// the second time, and for what is not pending.
  ///
  /// Errors: throws where a rank is gone, or did not come within the timeout.
  void wait();
  explicit operator bool() const { return state_ != nullptr; }

 private:
  friend class ProcessGroup;
  struct State;
  explicit Pending(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A message to or from a rank. Messages between two ranks arrive in the order in which they were sent; both ends give
/// the same tag.
struct Message {
  torch::Tensor tensor;  ///< contiguous
  int peer = 0;
  int tag = 0;
};

/// The processes that run a workload together: a c10d::ProcessGroup, Gloo on CPUs and NCCL on CUDA devices, whose calls
/// are counted. Each call is a range of its name, and waiting for it is the range "wait".
///
///   examples::ProcessGroup group("/tmp/store", rank, ranks, torch::kCPU);
///   group.all_reduce(gradient).wait();
///
/// Tensors are contiguous and take no part in autograd. All ranks call the same in the same order.
///
/// Errors: throws what LibTorch throws: a rank that does not come for a minute, tensors that do not fit.
/// Threads: one at a time.
class ProcessGroup {
 public:
  /// One process alone, without a backend: nothing may be called but rank() and size().
  ProcessGroup();
  /// Waits until all ranks are there. `store`: a file that is not there yet, the same for all.
  ProcessGroup(const std::string& store, int rank, int ranks, torch::Device device);
  ProcessGroup(ProcessGroup&&) noexcept;
  ProcessGroup& operator=(ProcessGroup&&) noexcept;
  ~ProcessGroup();

  /// Why so many ranks cannot run on such devices ("cpu", "cuda") with this LibTorch; empty: they can.
  static std::string missing(const std::string& device, int ranks);

  int rank() const;
  int size() const;

  /// The sum over all ranks, in place.
  Pending all_reduce(const torch::Tensor& tensor);
  /// `whole`: the parts of all ranks, one after the other.
  Pending all_gather(const torch::Tensor& whole, const torch::Tensor& part);
  /// `part`: this rank's part of the sum of `whole` over all ranks.
  Pending reduce_scatter(const torch::Tensor& part, const torch::Tensor& whole);
  /// Rows of `in` go to the ranks in turn, `in_rows[rank]` of them; rows of `out` came from them.
  Pending all_to_all(const torch::Tensor& out, const torch::Tensor& in, std::vector<std::int64_t> out_rows,
                     std::vector<std::int64_t> in_rows);
  /// Messages both ways at once. On NCCL they are one group, so that their order cannot block.
  std::vector<Pending> exchange(const std::vector<Message>& sends, const std::vector<Message>& receives);
  /// Not counted: it carries nothing.
  void barrier();

  /// Since it was reset, or from the start.
  const Traffic& traffic() const;
  /// Time for which `wait` has waited since then. Of a device: for which the host waited, which is nearly nothing.
  std::int64_t wait_ns() const;
  void reset_counts();

 private:
  std::shared_ptr<ProcessGroupState> state_;
};

}  // namespace examples
