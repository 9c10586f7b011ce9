// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

// Component `torch`: link rangefinder::torch.
namespace rangefinder::torch {

/// What CollectiveRecording records.
struct CollectiveOptions {
  /// Collectives of all backends, Gloo's among them, with group, number, elements and parts, from the inputs of c10d's
  /// operators. LibTorch then collects the inputs of every operator, which takes longer for all of them. Without it,
  /// those of backends that tell by themselves (NCCL, UCC, XCCL), without their numbers.
  bool inputs = true;
};

/// Records c10d's collectives, sends and receives while it lives and a session records: kind, group, elements, type,
/// peer and parts, the range in which each was called, and when the work of Gloo began and was done. The view
/// `collectives` matches them over the ranks of a job, the view `hang` says which rank did not come to one.
///
///   rangefinder::Session session{"rank0.rfcap"};
///   rangefinder::torch::CollectiveRecording collectives;
///   group->allreduce(tensors)->wait();
///
/// Make it before the first send or receive of a group: Gloo counts them together with collectives, and the numbers of
/// collectives, by which ranks are matched, are those without them.
///
/// Errors:  none reach the caller. What finds no memory is counted (CaptureHealth::dropped_collectives). `state` says
///          why nothing is recorded. Work that fails, because a rank is gone, stays unfinished in the recording.
/// Threads: make and destroy it while no operator runs; several may live at once, they record once.
/// Cost:    LibTorch's own dispatch to callbacks for every operator and, with `inputs`, what it needs to collect them:
///          some 0.5 us of an operator. Of a collective of Gloo some 4 us on all its threads, of which about 1 us,
///          while a session records, is not LibTorch's own.
class RANGEFINDER_EXPORT CollectiveRecording {
 public:
  explicit CollectiveRecording(const CollectiveOptions& options = {});
  ~CollectiveRecording();
  CollectiveRecording(const CollectiveRecording&) = delete;
  CollectiveRecording& operator=(const CollectiveRecording&) = delete;

  /// "recorded", or the reason why nothing is: a LibTorch without c10d.
  const std::string& state() const noexcept;

 private:
  CollectiveOptions options_;
};

/// The collective that the calling thread called last, to tell later who waits for it. NCCL tells that by itself; Gloo
/// does not.
///
///   auto work = group->allreduce(tensors);
///   const rangefinder::torch::CalledCollective called;
///   ...
///   { rangefinder::torch::WaitForCollective waiting(called);
///     work->wait(); }
///
/// Errors:  none. Where the call was not recorded, neither is the waiting.
/// Threads: make it on the thread that called, right behind the call; use it on any.
class RANGEFINDER_EXPORT CalledCollective {
 public:
  CalledCollective() noexcept;

 private:
  friend class WaitForCollective;
  std::uint32_t handle_;  // 0: none
};

/// The calling thread waits for a collective while it lives.
///
/// Cost: two short records, some 50 ns.
class RANGEFINDER_EXPORT WaitForCollective {
 public:
  explicit WaitForCollective(const CalledCollective& called) noexcept;
  ~WaitForCollective();
  WaitForCollective(const WaitForCollective&) = delete;
  WaitForCollective& operator=(const WaitForCollective&) = delete;
  static void* operator new(std::size_t) = delete;  // a scope, so it lives on the stack

 private:
  std::uint32_t handle_;
};

}  // namespace rangefinder::torch
