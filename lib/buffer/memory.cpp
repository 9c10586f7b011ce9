// SPDX-License-Identifier: MIT
// What allocators do, as they tell it.
#include "base/health_numbers.hpp"
#include "buffer/record_writer.hpp"
#include "buffer/thread_log.hpp"

#include <rangefinder/detail/memory.hpp>

#include <atomic>
#include <iterator>

namespace rangefinder::buffer {
namespace {

std::atomic<detail::StepHook> step_hook{nullptr};

}  // namespace

void before_step() noexcept {
  // Acquire: what the hook uses was made before set_step_hook.
  const detail::StepHook hook = step_hook.load(std::memory_order_acquire);
  if (hook == nullptr || recording_generation() == 0) return;
  if (!hook()) Recorder::instance().count(health::dropped_events, 1);
}

}  // namespace rangefinder::buffer

namespace rangefinder::detail {

using namespace rangefinder::buffer;

void memory_event_slow(const MemoryEvent& event) noexcept {
  const std::uint64_t values[] = {event.address,
                                  event.bytes,
                                  static_cast<std::uint64_t>(event.allocated),
                                  static_cast<std::uint64_t>(event.reserved),
                                  event.stream,
                                  event.pool};
  constexpr std::uint64_t kUnknown[] = {0, 0, ~std::uint64_t{0}, ~std::uint64_t{0}, 0, 0};
  std::size_t known = std::size(values);
  while (known > 0 && values[known - 1] == kUnknown[known - 1]) --known;
  guarded([&] {
    if (ready(hot_thread, 1 + known, kForBegins, false) == nullptr)
      return Recorder::instance().count(health::dropped_memory_events, 1);
    put(hot_thread,
        make_word(RecordKind::kMemory, static_cast<std::uint32_t>(event.device),
                  static_cast<std::uint32_t>(event.action)),
        Recorder::instance().ticks());
    for (std::size_t i = 0; i < known; ++i) put_extra(hot_thread, {ExtraKind::kUnsigned, values[i], {}});
  });
}

void set_step_hook(StepHook hook) noexcept { step_hook.store(hook, std::memory_order_release); }

}  // namespace rangefinder::detail
