// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/record.hpp>
#include <rangefinder/detail/ticks.hpp>
#include <rangefinder/visibility.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// What a range does inline. Everything here is compiled into the user's program, so the layout of HotThread is part of
// the ABI: it changes only together with the name of the inline namespace, and a stale object file fails to link
// instead of writing to the wrong place.
//
// Why inline: on the machines measured, one call through the PLT costs a third of a clock read, and two clock reads are
// the floor of a range (docs/explanation/hot-path.md).
namespace rangefinder::detail {
inline namespace v1 {

#define RANGEFINDER_INLINE __attribute__((always_inline)) inline
#define RANGEFINDER_LIKELY(x) __builtin_expect(!!(x), 1)

/// A literal's address and the begin word of its name.
struct LiteralSlot {
  const char* address;
  std::uint64_t word;
};
/// A run-time name's text (owned by the name table, never freed) and its begin word.
struct TextSlot {
  const char* text;
  std::uint64_t size;
  std::uint64_t hash;
  std::uint64_t word;
};
inline constexpr std::size_t kLiteralSlots = 512;
inline constexpr unsigned kTextSlotBits = 9;
inline constexpr std::size_t kTextSlots = (std::size_t{1} << kTextSlotBits) + 1;  // a text stands in its slot or the next

/// What a thread needs to write a record: one cache line, reached without a call.
struct alignas(64) HotThread {
  char* cursor;            ///< where the next record goes
  char* limit;             ///< a begin must lie below; null while a record is being written, which makes a signal
                           ///< handler that opens a range take the slow path, where it is dropped and counted
  std::uint64_t token;     ///< generation << 32 | thread index while attached to a recording, else 0
  LiteralSlot* literals;   ///< kLiteralSlots, indexed by the low bits of the address
  TextSlot* texts;         ///< kTextSlots, indexed by the top bits of the hash
  void* state;             ///< the recorder's own view of this thread
  std::uint32_t busy;      ///< set while the thread is inside the recorder's slow path
};
static_assert(sizeof(HotThread) == 64, "one cache line, and what is taken of the static TLS reserve");

// The initial-exec model makes this one load relative to the thread pointer, also from position-independent code. It
// takes 64 bytes of the static TLS reserve when the library is loaded with dlopen; glibc keeps 1.6 kB for such use.
extern RANGEFINDER_EXPORT __thread HotThread hot_thread __attribute__((tls_model("initial-exec")));

/// 0: nothing listens. The generation of the recording while one runs on the fast path. With kSlowPath set (a tool
/// listens to NVTX, or the clock is not the TSC) it equals no thread's generation, so that every range takes the slow
/// path. Written by the session and by lib/source/nvtx; read, relaxed, by every range.
extern RANGEFINDER_EXPORT std::atomic<std::uint32_t> active;
inline constexpr std::uint32_t kSlowPath = 0x80000000u;

/// What a range keeps to close itself.
struct OpenRange {
  std::uint64_t token = 0;  ///< 0: nothing was listening when it opened
  std::uint64_t word = 0;   ///< the begin word
};

/// Optional value of a range, mark or counter.
struct Extra {
  ExtraKind kind;
  std::uint64_t bits;      ///< the value's bits; unused for kText
  std::string_view text;   ///< kText only
};

RANGEFINDER_EXPORT OpenRange begin_literal_slow(const char* literal, std::size_t size, std::uint32_t category) noexcept;
RANGEFINDER_EXPORT OpenRange begin_text_slow(const char* text, std::size_t size, std::uint32_t category) noexcept;
RANGEFINDER_EXPORT OpenRange begin_word_slow(std::uint64_t word) noexcept;
RANGEFINDER_EXPORT OpenRange begin_extra(std::string_view name, std::uint32_t category, const Extra& extra) noexcept;
RANGEFINDER_EXPORT void end_slow(const OpenRange& open) noexcept;
/// Fills the literal's slot and gives its begin word without category; 0 where the address must not be cached.
RANGEFINDER_EXPORT std::uint64_t literal_word_slow(const char* literal, std::size_t size) noexcept;
RANGEFINDER_EXPORT std::uint64_t text_word_slow(const char* text, std::size_t size, std::uint64_t hash) noexcept;
/// The id of a name, interned for the life of the process; 0 when the name table is full.
RANGEFINDER_EXPORT std::uint32_t intern_name(std::string_view name) noexcept;
RANGEFINDER_EXPORT std::uint32_t intern_category(std::string_view name) noexcept;

RANGEFINDER_INLINE std::uint64_t load8(const char* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Covers every byte, with two loads up to 16 bytes and four up to 32: names of layers and steps are that short.
RANGEFINDER_INLINE std::uint64_t hash_text(const char* s, std::size_t n) noexcept {
  constexpr std::uint64_t k1 = 0x9E3779B97F4A7C15u, k2 = 0xD6E8FEB86659FD93u, k3 = 0xC2B2AE3D27D4EB4Fu;
  std::uint64_t a = 0, b = 0;
  if (RANGEFINDER_LIKELY(n >= 8)) {
    a = load8(s);
    b = load8(s + n - 8);
    if (n > 16) {
      a ^= load8(s + 8) * k3;
      b ^= load8(s + n - 16) * k1;
      for (std::size_t i = 16; i + 16 < n; i += 8) a = (a ^ load8(s + i)) * k2;
    }
  } else {
    for (std::size_t i = 0; i < n; ++i) a = a << 8 | static_cast<unsigned char>(s[i]);
  }
  std::uint64_t h = (a ^ n * k3) * k1 ^ (b * k2 >> 3);
  h ^= h >> 32;
  return h * k2;
}

RANGEFINDER_INLINE bool same_text(const char* a, const char* b, std::size_t n) noexcept {
  if (RANGEFINDER_LIKELY(n >= 8 && n <= 32)) {
    std::uint64_t difference = (load8(a) ^ load8(b)) | (load8(a + n - 8) ^ load8(b + n - 8));
    if (n > 16) difference |= (load8(a + 8) ^ load8(b + 8)) | (load8(a + n - 16) ^ load8(b + n - 16));
    return difference == 0;
  }
  return std::memcmp(a, b, n) == 0;
}

/// Writes one record at the cursor and publishes it. The count in the block's header is stored after the record, so
/// that a reader of the file, after a kill too, sees only whole records; lib/buffer reads it with acquire.
RANGEFINDER_INLINE void write_record(HotThread& hot, char* cursor, char* limit, std::uint64_t word) noexcept {
  __atomic_store_n(&hot.limit, nullptr, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  auto* record = reinterpret_cast<Record*>(cursor);
  record->word = word;
  record->ticks = read_ticks();
  const auto address = reinterpret_cast<std::uintptr_t>(cursor);
  auto* used = reinterpret_cast<std::uint32_t*>(address & ~static_cast<std::uintptr_t>(kBlockBytes - 1));
  const auto offset = static_cast<std::uint32_t>(address & (kBlockBytes - 1));
  __atomic_store_n(used, offset + static_cast<std::uint32_t>(sizeof(Record)), __ATOMIC_RELEASE);
  hot.cursor = cursor + sizeof(Record);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  __atomic_store_n(&hot.limit, limit, __ATOMIC_RELAXED);
}

/// True when this thread may write a begin at once: attached to the recording that is active, and room in its block.
RANGEFINDER_INLINE bool may_begin(const HotThread& hot, std::uint32_t now_active) noexcept {
  return RANGEFINDER_LIKELY(static_cast<std::uint32_t>(hot.token >> 32) == now_active) &&
         RANGEFINDER_LIKELY(hot.cursor < hot.limit);
}

RANGEFINDER_INLINE OpenRange begin_word(std::uint64_t word) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (RANGEFINDER_LIKELY(now_active == 0)) return {};
  HotThread& hot = hot_thread;
  if (!may_begin(hot, now_active)) return begin_word_slow(word);
  write_record(hot, hot.cursor, hot.limit, word);
  return {hot.token, word};
}

RANGEFINDER_INLINE OpenRange begin_literal(const char* literal, std::size_t size, std::uint32_t category) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (RANGEFINDER_LIKELY(now_active == 0)) return {};
  HotThread& hot = hot_thread;
  if (!may_begin(hot, now_active)) return begin_literal_slow(literal, size, category);
  const LiteralSlot& slot = hot.literals[reinterpret_cast<std::uintptr_t>(literal) & (kLiteralSlots - 1)];
  std::uint64_t word = slot.word;
  if (!RANGEFINDER_LIKELY(slot.address == literal)) {
    word = literal_word_slow(literal, size);
    if (word == 0) return begin_literal_slow(literal, size, category);
  }
  word |= static_cast<std::uint64_t>(category) << 8;
  write_record(hot, hot.cursor, hot.limit, word);
  return {hot.token, word};
}

RANGEFINDER_INLINE OpenRange begin_text(const char* text, std::size_t size, std::uint32_t category) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (RANGEFINDER_LIKELY(now_active == 0)) return {};
  HotThread& hot = hot_thread;
  if (!may_begin(hot, now_active)) return begin_text_slow(text, size, category);
  const std::uint64_t hash = hash_text(text, size);
  const TextSlot* slot = hot.texts + (hash >> (64 - kTextSlotBits));
  if (!RANGEFINDER_LIKELY(slot->hash == hash)) ++slot;
  std::uint64_t word = slot->word;
  if (!RANGEFINDER_LIKELY(slot->hash == hash && slot->size == size && same_text(slot->text, text, size)))
    word = text_word_slow(text, size, hash);
  word |= static_cast<std::uint64_t>(category) << 8;
  write_record(hot, hot.cursor, hot.limit, word);
  return {hot.token, word};
}
RANGEFINDER_INLINE void end(const OpenRange& open) noexcept {
  if (RANGEFINDER_LIKELY(open.token == 0)) return;
  HotThread& hot = hot_thread;
  char* const limit = hot.limit;
  // The token holds generation and thread: a range that outlived its session, or changed threads, takes the slow path.
  if (RANGEFINDER_LIKELY(open.token == hot.token) && RANGEFINDER_LIKELY(hot.cursor < limit + kEndReserveBytes)) {
    constexpr std::uint64_t to_end =
        static_cast<std::uint64_t>(RecordKind::kEnd) - static_cast<std::uint64_t>(RecordKind::kBegin);
    write_record(hot, hot.cursor, limit, open.word + to_end);
    return;
  }
  end_slow(open);
}

}  // namespace v1
}  // namespace rangefinder::detail
