// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/buffer_pool.hpp"
#include "source/cupti/callback_ids.hpp"
#include "source/cupti/cupti_api.hpp"

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstdint>

// What CUPTI calls in us, and the state that these functions share with the rest of the room. They run on the
// application's threads and on CUPTI's, sometimes under CUPTI's own locks: they take no lock and call nothing of CUPTI.
// What they hand on to graph_nodes.hpp and stream_captures.hpp does, for a moment, where a graph is made.
namespace rangefinder::source::cupti {

/// Which thread made a launch, by correlation id, until its API record comes to be compared. A table of fixed size: a
/// launch that was overwritten by a later one is not compared.
class LaunchThreads {
 public:
  void note(std::uint32_t correlation, std::uint32_t tid) noexcept {
    // One 64-bit store: a reader sees a pair that belongs together. Read by `disagrees` on the decoding thread.
    entries_[correlation % kEntries].store(std::uint64_t{correlation} << 32 | tid, std::memory_order_relaxed);
  }
  void clear() noexcept {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }
  /// True when the launch is known and another thread made it.
  bool disagrees(std::uint32_t correlation, std::uint32_t tid) const noexcept {
    const std::uint64_t entry = entries_[correlation % kEntries].load(std::memory_order_relaxed);
    const auto noted = static_cast<std::uint32_t>(entry);
    return entry >> 32 == correlation && noted != 0 && noted != tid;
  }

 private:
  // A flush period at the highest launch rate that one process reaches: 250 ms at 200,000 launches a second.
  static constexpr std::uint32_t kEntries = 1u << 16;
  std::array<std::atomic<std::uint64_t>, kEntries> entries_{};
};

using NoteLaunch = void (*)(std::uint32_t correlation, std::uint32_t callback) noexcept;
/// A function that makes or changes graphs.
enum class GraphCall : std::uint8_t {
  kNo,
  kBeginsCapture,  ///< after it a stream is captured into a graph
  kEndsCapture,    ///< or no longer
  kAddsNode,       ///< by hand
  kAddsCopy,       ///< by hand, maybe with a copy of a graph
  kCopies,         ///< clones or instantiates
  kUpdates,
  kMakesCondition
};

/// Why callbacks and calls must do nothing any more.
enum class Closed : std::uint32_t { kNo, kForked, kExiting };

struct CallbackState {
  std::atomic<bool> noting{false};  // launches are written down
  std::atomic<Closed> closed{Closed::kNo};
  std::atomic<NoteLaunch> note{nullptr};
  std::atomic<LaunchThreads*> threads{nullptr};  // null: nothing to cross-check; else never freed
  std::atomic<bool> capturing{false};            // some stream is captured: launches may be nodes of a graph
  std::atomic<std::uint32_t> epoch{0};  // of `noting`: an API call that began before the last change is not counted on

  // Written at every launch, so on a line of their own.
  alignas(64) std::atomic<std::uint64_t> launches{0};  // that leave records: what makes a graph does not count
  std::atomic<std::uint64_t> newest_correlation{0};    // of a launch, with bit 32 set; 0: none yet

  alignas(64) std::atomic<BufferPool*> pool{nullptr};
  std::atomic<bool> never_refuse{false};          // this CUPTI crashes on a null buffer
  std::atomic<std::uint64_t> requests{0};         // buffers asked for
  std::atomic<std::uint64_t> refused{0};          // and not given
  std::atomic<std::uint64_t> returns{0};          // buffers given back
  std::atomic<std::uint64_t> foreign_buffers{0};  // returned but not out: returned twice, or never ours
  std::atomic<bool> fatal{false};                 // CUPTI has finalized itself
  std::atomic<int> fatal_result{0};
  sem_t work{};  // posted when a buffer came back; the collector waits on it

  // By domain (runtime, driver) and callback id.
  std::array<std::array<std::atomic<GraphCall>, kMaxCallbackIds>, 2> graph_calls{};
};

/// The one of the process. Initialised before any code runs and never destroyed, so that a callback at any time and a
/// child of fork may touch it.
CallbackState& callback_state() noexcept;

/// Before CUPTI is given any of the functions below.
void prepare_callback_state() noexcept;

/// From now on launches are noted. `threads` may be null; it is never freed.
void start_noting(NoteLaunch note, LaunchThreads* threads) noexcept;
void stop_noting() noexcept;

/// Marks the calling thread as one of rangefinder's: what its CUPTI calls trigger is no launch of the program.
void ignore_callbacks_of_this_thread() noexcept;

/// The correlation id of the noted call that the calling thread is inside of; 0: none.
std::uint32_t noted_call() noexcept;

/// Later than, allowing for the wrap at 2^32.
constexpr bool correlation_after(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b) > 0;
}

void CUPTIAPI on_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records);
void CUPTIAPI on_buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid);

}  // namespace rangefinder::source::cupti
