// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"

#include <rangefinder/result.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace rangefinder::bench {

enum class RankDoing : std::uint8_t { kNothing, kSetup, kInputs, kStep, kPerturbation, kOutputs, kFigures };

/// Where a rank is.
struct RankPosition {
  RankDoing doing = RankDoing::kNothing;
  std::uint64_t step = 0;  ///< of the request, from 1; 0 outside of steps
  bool waits = false;      ///< for other ranks (WaitForRanks)

  /// "step 3", "set-up"; empty for kNothing.
  std::string text() const;
};

/// Where a rank is, in memory that it shares with the harness: known even of one that hangs or is gone. Costs a rank a
/// store a step.
class RankProgress {
 public:
  /// The harness's side: memory without a name, whose descriptor the rank inherits.
  static Result<RankProgress> create();
  /// The rank's side. Takes the descriptor.
  static Result<RankProgress> attach(int fd);
  RankProgress(RankProgress&& other) noexcept
      : fd_(std::move(other.fd_)), position_(std::exchange(other.position_, nullptr)) {}
  RankProgress& operator=(RankProgress&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(position_, other.position_);
    return *this;
  }
  ~RankProgress();

  /// Not waiting.
  void set(RankDoing doing, std::uint64_t step = 0) noexcept {
    position_->store(std::uint64_t{static_cast<std::uint8_t>(doing)} << kDoingAt | step, std::memory_order_relaxed);
  }
  /// Whether it was waiting before.
  bool set_waiting(bool waits) noexcept {
    const std::uint64_t before = waits ? position_->fetch_or(kWaits, std::memory_order_relaxed)
                                       : position_->fetch_and(~kWaits, std::memory_order_relaxed);
    return (before & kWaits) != 0;
  }
  /// As far as it says: what a rank of another build wrote is kNothing.
  RankPosition get() const noexcept;
  int fd() const noexcept { return fd_.get(); }
  /// The one that WaitForRanks of this process tells; null: none.
  static void tell(RankProgress* progress) noexcept;

 private:
  // One word, so that a step is never read together with what was done before it.
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free, "the memory is shared between processes");
  static constexpr int kDoingAt = 56;
  static constexpr std::uint64_t kWaits = std::uint64_t{1} << 55;

  RankProgress() = default;
  static Result<RankProgress> map(base::Fd fd);

  base::Fd fd_;
  Word* position_ = nullptr;
};

}  // namespace rangefinder::bench
