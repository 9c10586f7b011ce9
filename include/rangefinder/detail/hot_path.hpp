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
// the floor of a range (docs/explanation/benchmarks.md).
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
inline constexpr std::size_t kTextSlots =
    (std::size_t{1} << kTextSlotBits) + 1;  // a text stands in its slot or the next

/// What a thread needs to write a record: one cache line, reached without a call.
struct alignas(64) HotThread {
  std::uint64_t token;  ///< generation << 32 | thread index while attached to a recording, else 0. Taken (0) while a
                        ///< record is being written, which makes a signal handler that opens a range take the slow
                        ///< path, where it is dropped and counted
  char* block;  ///< where records go, kBlockBytes aligned to their size; null while not attached. Looked at only
                ///< by who has taken the token: a signal handler may put another one in its place
  LiteralSlot* literals;  ///< kLiteralSlots, indexed by the low bits of the address
  TextSlot* texts;        ///< kTextSlots, indexed by the top bits of the hash
  void* state;            ///< the recorder's own view of this thread
  std::uint32_t busy;     ///< how deep the thread is inside the recorder's slow path and its locks
  std::uint32_t exits;    ///< how often the thread was detached because it ends
  /// The number that the thread's next node of autograd gets. Set while attached, asked while kNumbered is set.
  std::uint64_t (*next_sequence)();
  /// That number as it was recorded last. A session that goes on after a pause makes it unknown, from another thread.
  std::uint64_t noted_sequence;
};
static_assert(sizeof(HotThread) == 64, "one cache line, and what is taken of the static TLS reserve");

// The initial-exec model makes this one load relative to the thread pointer, also from position-independent code. It
// takes 64 bytes of the static TLS reserve when the library is loaded with dlopen; glibc keeps 1.6 kB for such use.
extern RANGEFINDER_EXPORT __thread HotThread hot_thread __attribute__((tls_model("initial-exec")));

/// 0: nothing listens. The generation of the recording while one runs on the fast path. With kSlowPath set (a tool
/// listens to NVTX, or the clock is not the TSC) it equals no thread's generation, so that every range takes the slow
/// path. So it does with kNumbered set (autograd numbers its nodes, detail/autograd.hpp), where the slow path begins by
/// doing what is done inline for a thread that has taken no number since its last record. Written by the session and by
/// lib/source/nvtx; read, relaxed, by every range.
extern RANGEFINDER_EXPORT std::atomic<std::uint32_t> active;
inline constexpr std::uint32_t kSlowPath = 0x80000000u;
inline constexpr std::uint32_t kNumbered = 0x10000000u;  // generations are lower

/// False: what is opened now is in no capture, whoever else may hear of it.
RANGEFINDER_INLINE bool is_recording() noexcept { return (active.load(std::memory_order_relaxed) & ~kSlowPath) != 0; }

/// What a range keeps to close itself.
struct OpenRange {
  std::uint64_t token = 0;  ///< 0: nothing was listening when it opened
  std::uint64_t word = 0;   ///< the begin word
};

/// Optional value of a range, mark or counter.
struct Extra {
  ExtraKind kind;
  std::uint64_t bits;     ///< the value's bits; unused for kText
  std::string_view text;  ///< kText only
};

RANGEFINDER_EXPORT OpenRange begin_literal_slow(const char* literal, std::size_t size, std::uint32_t category) noexcept;
RANGEFINDER_EXPORT OpenRange begin_text_slow(const char* text, std::size_t size, std::uint32_t category) noexcept;
RANGEFINDER_EXPORT OpenRange begin_word_slow(std::uint64_t word) noexcept;
RANGEFINDER_EXPORT OpenRange begin_literal_with_slow(const char* literal, std::size_t size, std::uint32_t category,
                                                     const Extra& value) noexcept;
RANGEFINDER_EXPORT OpenRange begin_text_with_slow(const char* text, std::size_t size, std::uint32_t category,
                                                  const Extra& value) noexcept;
RANGEFINDER_EXPORT OpenRange begin_word_with_slow(std::uint64_t word, const Extra& value) noexcept;
RANGEFINDER_EXPORT void end_slow(std::uint64_t token, std::uint64_t word) noexcept;
/// For a range inside which others of its thread are open and stay so.
RANGEFINDER_EXPORT void end_out_of_order(std::uint64_t token, std::uint64_t word) noexcept;
/// Fills the literal's slot and gives its begin word without category; 0 where the address must not be cached, and in a
/// signal handler that interrupted the recorder.
RANGEFINDER_EXPORT std::uint64_t literal_word_slow(const char* literal, std::size_t size) noexcept;
/// Likewise.
RANGEFINDER_EXPORT std::uint64_t text_word_slow(const char* text, std::size_t size, std::uint64_t hash) noexcept;
/// The id of a name, interned for the life of the process; 0 when the name table is full.
RANGEFINDER_EXPORT std::uint32_t intern_name(std::string_view name) noexcept;
RANGEFINDER_EXPORT std::uint32_t intern_category(std::string_view name) noexcept;
/// A category of an NVTX domain is interned as the domain, this, and its name; of the domain alone, with no name.
inline constexpr char kBehindDomain = '\x1f';

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

/// A begin leaves room for the ends of ranges that are open; an end takes what there is. Offsets that records may have.
inline constexpr auto kBeginLimit = static_cast<std::uint32_t>(kBlockBytes - kEndReserveBytes);
inline constexpr auto kEndLimit = static_cast<std::uint32_t>(kBlockBytes);

/// Writes one record and publishes it; false when the block has no room for it. `token`: what hot.token was.
/// The count in the block's header is stored after the record, so that a reader of the file, after a kill too, sees
/// only whole records; lib/buffer reads it with acquire. It is loaded after the token was taken: a signal handler that
/// came before that has moved it, and one that comes later writes nothing.
RANGEFINDER_INLINE bool write_record(HotThread& hot, std::uint64_t token, std::uint32_t limit,
                                     std::uint64_t word) noexcept {
  __atomic_store_n(&hot.token, 0, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  char* const block = hot.block;
  auto* const used = reinterpret_cast<std::uint32_t*>(block);
  const std::uint32_t offset = __atomic_load_n(used, __ATOMIC_RELAXED);
  const bool room = offset < limit;
  if (RANGEFINDER_LIKELY(room)) {
    auto* const record = reinterpret_cast<Record*>(block + offset);
    record->word = word;
    record->ticks = read_ticks();
    __atomic_store_n(used, offset + static_cast<std::uint32_t>(sizeof(Record)), __ATOMIC_RELEASE);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  __atomic_store_n(&hot.token, token, __ATOMIC_RELAXED);
  return room;
}

/// As write_record, for a begin and the number that belongs to it: both or neither.
RANGEFINDER_INLINE bool write_with_number(HotThread& hot, std::uint64_t token, std::uint64_t word,
                                          const Extra& number) noexcept {
  __atomic_store_n(&hot.token, 0, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  char* const block = hot.block;
  auto* const used = reinterpret_cast<std::uint32_t*>(block);
  const std::uint32_t offset = __atomic_load_n(used, __ATOMIC_RELAXED);
  const bool room = offset < kBeginLimit - sizeof(Record);
  if (RANGEFINDER_LIKELY(room)) {
    auto* const records = reinterpret_cast<Record*>(block + offset);
    records[1] = {number.bits, make_word(RecordKind::kExtra, 0, static_cast<std::uint32_t>(number.kind))};
    records[0].word = word;
    records[0].ticks = read_ticks();
    __atomic_store_n(used, offset + static_cast<std::uint32_t>(2 * sizeof(Record)), __ATOMIC_RELEASE);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  __atomic_store_n(&hot.token, token, __ATOMIC_RELAXED);
  return room;
}

/// True for the token of a thread that is attached to the recording that is active.
RANGEFINDER_INLINE bool attached(std::uint64_t token, std::uint32_t now_active) noexcept {
  return RANGEFINDER_LIKELY(static_cast<std::uint32_t>(token >> 32) == now_active);
}

// No hint says whether ranges are on or off: laid out for off, a range that is on pays three taken jumps, 1 ns; laid
// out for on, one that is off pays 0.1 ns.

// The three ways to begin. Each returns the token, 0 when nothing listens, and sets the word that `end` wants. Both are
// values of their own, not a struct: GCC 12 would build the struct in a vector register and spill it, which costs more
// than the whole of a range that is off.

RANGEFINDER_INLINE std::uint64_t keep(const OpenRange& open, std::uint64_t& word) noexcept {
  word = open.word;
  return open.token;
}

RANGEFINDER_INLINE std::uint64_t begin_word(std::uint64_t& word) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (now_active == 0) return 0;
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  if (attached(token, now_active) && RANGEFINDER_LIKELY(write_record(hot, token, kBeginLimit, word))) return token;
  return keep(begin_word_slow(word), word);
}

/// The begin word of a literal on a thread that is attached; false when it cannot be named here.
RANGEFINDER_INLINE bool find_literal(HotThread& hot, const char* literal, std::size_t size, std::uint32_t category,
                                     std::uint64_t& word) noexcept {
  // lib/buffer empties slots of other threads when a library was unloaded.
  const LiteralSlot& slot = hot.literals[reinterpret_cast<std::uintptr_t>(literal) & (kLiteralSlots - 1)];
  word = slot.word;
  if (!RANGEFINDER_LIKELY(__atomic_load_n(&slot.address, __ATOMIC_RELAXED) == literal)) {
    word = literal_word_slow(literal, size);
    if (word == 0) return false;
  }
  word |= static_cast<std::uint64_t>(category) << 8;
  return true;
}

/// Opens a range on a thread that is attached; false when the slow path must.
RANGEFINDER_INLINE bool write_literal(HotThread& hot, std::uint64_t token, const char* literal, std::size_t size,
                                      std::uint32_t category, std::uint64_t& word) noexcept {
  return find_literal(hot, literal, size, category, word) &&
         RANGEFINDER_LIKELY(write_record(hot, token, kBeginLimit, word));
}

RANGEFINDER_INLINE std::uint64_t begin_literal(const char* literal, std::size_t size, std::uint32_t category,
                                               std::uint64_t& word) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (now_active == 0) return 0;
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  if (attached(token, now_active) && write_literal(hot, token, literal, size, category, word)) return token;
  return keep(begin_literal_slow(literal, size, category), word);
}

/// The begin word of a run-time name on a thread that is attached; false when it cannot be named here.
RANGEFINDER_INLINE bool find_text(HotThread& hot, const char* text, std::size_t size, std::uint32_t category,
                                  std::uint64_t& word) noexcept {
  const std::uint64_t hash = hash_text(text, size);
  const TextSlot* slot = hot.texts + (hash >> (64 - kTextSlotBits));
  if (!RANGEFINDER_LIKELY(slot->hash == hash)) ++slot;
  word = slot->word;
  if (!RANGEFINDER_LIKELY(slot->hash == hash && slot->size == size && same_text(slot->text, text, size))) {
    word = text_word_slow(text, size, hash);
    if (word == 0) return false;
  }
  word |= static_cast<std::uint64_t>(category) << 8;
  return true;
}

/// As write_literal.
RANGEFINDER_INLINE bool write_text(HotThread& hot, std::uint64_t token, const char* text, std::size_t size,
                                   std::uint32_t category, std::uint64_t& word) noexcept {
  return find_text(hot, text, size, category, word) && RANGEFINDER_LIKELY(write_record(hot, token, kBeginLimit, word));
}

RANGEFINDER_INLINE std::uint64_t begin_text(const char* text, std::size_t size, std::uint32_t category,
                                            std::uint64_t& word) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (now_active == 0) return 0;
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  if (attached(token, now_active) && write_text(hot, token, text, size, category, word)) return token;
  return keep(begin_text_slow(text, size, category), word);
}

// The same three with a value. A text as the value takes the slow path, where it is interned.

RANGEFINDER_INLINE bool is_number(const Extra& value) noexcept { return value.kind != ExtraKind::kText; }

RANGEFINDER_INLINE std::uint64_t begin_word_with(std::uint64_t& word, const Extra& value) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (now_active == 0) return 0;
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  if (is_number(value) && attached(token, now_active) && RANGEFINDER_LIKELY(write_with_number(hot, token, word, value)))
    return token;
  return keep(begin_word_with_slow(word, value), word);
}

RANGEFINDER_INLINE std::uint64_t begin_literal_with(const char* literal, std::size_t size, std::uint32_t category,
                                                    const Extra& value, std::uint64_t& word) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (now_active == 0) return 0;
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  if (is_number(value) && attached(token, now_active) && find_literal(hot, literal, size, category, word) &&
      RANGEFINDER_LIKELY(write_with_number(hot, token, word, value)))
    return token;
  return keep(begin_literal_with_slow(literal, size, category, value), word);
}

RANGEFINDER_INLINE std::uint64_t begin_text_with(const char* text, std::size_t size, std::uint32_t category,
                                                 const Extra& value, std::uint64_t& word) noexcept {
  const std::uint32_t now_active = active.load(std::memory_order_relaxed);
  if (now_active == 0) return 0;
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  if (is_number(value) && attached(token, now_active) && find_text(hot, text, size, category, word) &&
      RANGEFINDER_LIKELY(write_with_number(hot, token, word, value)))
    return token;
  return keep(begin_text_with_slow(text, size, category, value), word);
}

/// From the begin word of a range to its end word.
inline constexpr std::uint64_t kToEnd =
    static_cast<std::uint64_t>(RecordKind::kEnd) - static_cast<std::uint64_t>(RecordKind::kBegin);

RANGEFINDER_INLINE void end(std::uint64_t token, std::uint64_t word) noexcept {
  if (token == 0) return;
  HotThread& hot = hot_thread;
  // The token holds generation and thread: a range that outlived its session, or changed threads, takes the slow path.
  if (RANGEFINDER_LIKELY(token == hot.token) && RANGEFINDER_LIKELY(write_record(hot, token, kEndLimit, word + kToEnd)))
    return;
  end_slow(token, word);
}

}  // namespace v1
}  // namespace rangefinder::detail
