// SPDX-License-Identifier: MIT
#include "bench/rank_progress.hpp"

#include <rangefinder/bench/benchmark.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace rangefinder::bench {
namespace {

std::atomic<RankProgress*> current_progress{nullptr};

}  // namespace

std::string RankPosition::text() const {
  switch (doing) {
    case RankDoing::kSetup:
      return "set-up";
    case RankDoing::kInputs:
      return "inputs()";
    case RankDoing::kStep:
      return "step " + std::to_string(step);
    case RankDoing::kPerturbation:
      return "perturb()";
    case RankDoing::kOutputs:
      return "outputs()";
    case RankDoing::kFigures:
      return "work() or metrics()";
    case RankDoing::kNothing:
      break;
  }
  return {};
}

void RankProgress::tell(RankProgress* progress) noexcept { current_progress.store(progress); }

WaitForRanks::WaitForRanks() noexcept : outermost_(false) {
  if (RankProgress* const progress = current_progress.load(std::memory_order_relaxed); progress != nullptr)
    outermost_ = !progress->set_waiting(true);
}

WaitForRanks::~WaitForRanks() {
  RankProgress* const progress = current_progress.load(std::memory_order_relaxed);
  if (outermost_ && progress != nullptr) progress->set_waiting(false);
}

Result<RankProgress> RankProgress::create() {
  base::Fd fd(::memfd_create("rangefinder-rank", MFD_CLOEXEC));
  if (!fd.valid()) return base::system_error("create", "shared memory of a rank", errno);
  if (::ftruncate(fd.get(), sizeof(Word)) != 0) return base::system_error("grow", "shared memory of a rank", errno);
  return map(std::move(fd));
}

Result<RankProgress> RankProgress::attach(int fd) { return map(base::Fd(fd)); }

Result<RankProgress> RankProgress::map(base::Fd fd) {
  const Result<std::uint64_t> size = base::file_size(fd, "shared memory of a rank");
  if (!size) return size.error();
  if (*size < sizeof(Word)) return Error{ErrorCode::kUnreadable, "shared memory of a rank: too small"};
  void* const at = ::mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return base::system_error("map", "shared memory of a rank", errno);
  RankProgress out;
  out.fd_ = std::move(fd);
  out.position_ = static_cast<Word*>(at);  // all bits zero: kNothing
  return out;
}

RankProgress::~RankProgress() {
  if (position_ != nullptr) ::munmap(position_, sizeof(Word));
}

RankPosition RankProgress::get() const noexcept {
  const std::uint64_t word = position_->load(std::memory_order_relaxed);
  const std::uint64_t doing = word >> kDoingAt;
  if (doing > static_cast<std::uint64_t>(RankDoing::kFigures)) return {};
  return {static_cast<RankDoing>(doing), word & (kWaits - 1), (word & kWaits) != 0};
}

}  // namespace rangefinder::bench
