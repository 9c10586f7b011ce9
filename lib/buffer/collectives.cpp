// SPDX-License-Identifier: MIT
// Collectives, as the libraries that run them tell of them.
#include "base/health_numbers.hpp"
#include "buffer/record_writer.hpp"
#include "buffer/thread_log.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/detail/operators.hpp>

#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::buffer {
namespace {

using detail::CollectiveCall;
using detail::CollectiveGroup;
using detail::Extra;
using detail::ExtraKind;
using detail::make_word;

constinit std::atomic<std::uint32_t> last_handle{0};

std::uint32_t next_handle() noexcept {
  const std::uint32_t handle = last_handle.fetch_add(1, std::memory_order_relaxed) + 1;
  return handle != 0 ? handle : next_handle();
}

/// Texts of a signature, a line each, without memory from the heap. What exceeds it is cut: algorithms and types have
/// short names.
class SignatureText {
 public:
  void line(std::string_view text) noexcept {
    for (const char c : text) put(c == '\n' ? ' ' : c);
    put('\n');
  }
  void line(std::int64_t number) noexcept {
    std::array<char, 24> digits;
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    line({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  void put(char c) noexcept {
    if (size_ < text_.size()) text_[size_++] = c;
  }
  std::array<char, 512> text_;
  std::size_t size_ = 0;
};

std::uint32_t signature_of(const CollectiveCall& call) noexcept {
  SignatureText text;
  text.line(call.channels);
  text.line(call.dtype);
  text.line(call.algorithm);
  text.line(call.protocol);
  text.line(call.name);
  return detail::intern_inputs(text.text());
}

/// "0-7 12 16-1008/16": ranks that follow each other at equal distances take the room of two.
std::string ranks_text(const CollectiveGroup& group) {
  std::string text;
  for (std::size_t first = 0; first < group.rank_count;) {
    std::size_t last = first;
    const std::int64_t stride = first + 1 < group.rank_count ? group.ranks[first + 1] - group.ranks[first] : 0;
    while (stride > 0 && last + 1 < group.rank_count && group.ranks[last + 1] - group.ranks[last] == stride) ++last;
    if (last - first < 2) last = first;
    if (!text.empty()) text += ' ';
    text += std::to_string(group.ranks[first]);
    if (last != first) text += '-' + std::to_string(group.ranks[last]);
    if (last != first && stride != 1) text += '/' + std::to_string(stride);
    first = last + 1;
  }
  return text;
}

std::string group_text(const CollectiveGroup& group) {
  std::string name(group.name);
  for (char& c : name)
    if (c == '\n') c = ' ';
  return std::to_string(group.size) + '\n' + std::to_string(group.rank) + '\n' +
         (group.ranks != nullptr ? ranks_text(group) : std::string()) + '\n' + name + '\n' +
         std::string(group.description);
}

/// What follows a kCollective, as its comment in record.hpp says.
class Details {
 public:
  Details(const CollectiveCall& call, std::uint32_t handle) noexcept : call_(call), handle_(handle) {
    const bool known[kMax] = {
        true,           call.group != 0,         call.number >= 0,        call.elements_in >= 0, call.elements_out >= 0,
        call.peer >= 0, !call.in_splits.empty(), !call.out_splits.empty()};
    count_ = kMax;
    while (!known[count_ - 1]) --count_;
  }
  std::size_t count() const noexcept { return count_; }

  void put_on(const HotThread& hot) const noexcept {
    const std::pair<ExtraKind, std::int64_t> numbers[] = {
        {ExtraKind::kUnsigned, handle_},          {ExtraKind::kText, call_.group},
        {ExtraKind::kSigned, call_.number},       {ExtraKind::kSigned, call_.elements_in},
        {ExtraKind::kSigned, call_.elements_out}, {ExtraKind::kSigned, call_.peer}};
    for (std::size_t i = 0; i < count_ && i < std::size(numbers); ++i) {
      const auto [kind, number] = numbers[i];
      if (kind == ExtraKind::kText)
        put(hot, make_word(RecordKind::kExtra, call_.group, static_cast<std::uint32_t>(kind)), 0);
      else
        put_extra(hot, {kind, static_cast<std::uint64_t>(number), {}});
    }
    if (count_ > std::size(numbers)) put_extra(hot, {ExtraKind::kText, 0, call_.in_splits});
    if (count_ > std::size(numbers) + 1) put_extra(hot, {ExtraKind::kText, 0, call_.out_splits});
  }

 private:
  static constexpr std::size_t kMax = 8;
  const CollectiveCall& call_;
  std::uint32_t handle_;
  std::size_t count_;
};

/// Never waits for a block: who calls may hold locks of its own.
template <typename Put>
bool put_whole(std::size_t records, Put put_records) noexcept {
  bool written = false;
  guarded([&] {
    HotThread& hot = detail::hot_thread;
    if (ready(hot, records, kForBegins, false) == nullptr)
      return Recorder::instance().count(health::dropped_collectives, 1);
    put_records(hot);
    written = true;
  });
  return written;
}

}  // namespace
}  // namespace rangefinder::buffer

namespace rangefinder::detail {

using namespace rangefinder::buffer;

std::uint32_t collective_group(const CollectiveGroup& group) noexcept {
  try {
    return intern_inputs(group_text(group));
  } catch (...) {  // no memory
    return 0;
  }
}

std::uint32_t begin_collective(const CollectiveCall& call) noexcept {
  if (!is_recording()) return 0;
  const std::uint32_t handle = next_handle();
  const Details details(call, handle);
  const std::uint32_t signature = signature_of(call);
  const auto what = static_cast<std::uint32_t>(call.kind) | static_cast<std::uint32_t>(call.source) << 8;
  const bool written = put_whole(1 + details.count(), [&](const HotThread& hot) {
    // Another recording may have been the first to hear of these texts.
    Recorder::instance().publish_name(signature);
    Recorder::instance().publish_name(call.group);
    put(hot, make_word(RecordKind::kCollective, signature, what), Recorder::instance().ticks());
    details.put_on(hot);
  });
  return written ? handle : 0;
}

void count_lost_collective() noexcept {
  if (is_recording()) Recorder::instance().count(health::dropped_collectives, 1);
}

void note_collective(std::uint32_t handle, CollectivePhase phase) noexcept {
  if (handle == 0 || !is_recording()) return;
  put_whole(2, [&](const HotThread& hot) {
    put(hot, make_word(RecordKind::kCollectivePhase, 0, static_cast<std::uint32_t>(phase)),
        Recorder::instance().ticks());
    put_extra(hot, {ExtraKind::kUnsigned, handle, {}});
  });
}

}  // namespace rangefinder::detail
