// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

// Marks for a program's own code. This header needs C++17 and nothing else: no CUDA, no CUPTI, no LibTorch.
// Compiled with -DRANGEFINDER_DISABLE, everything below is empty.
namespace rangefinder {

/// A name, interned for the life of the process; keep one per call site, `static const`. Needed only where the name is
/// neither a literal nor worth hashing on every entry; `ProfileRange r{"forward"}` is as fast.
///
/// Errors:  a full name table gives id 0; such ranges are recorded unnamed and counted
///          (CaptureHealth::unnamed_ranges). Text past 16 KiB is cut and counted.
/// Threads: any.
class RANGEFINDER_EXPORT RangeName {
 public:
  explicit RangeName(std::string_view text) noexcept : id_(detail::intern_name(text)) {}
  std::uint32_t id() const noexcept { return id_; }

 private:
  std::uint32_t id_;
};

/// Groups ranges: filters and exporters use it. Keep one per call site, `static const`; at most 65,535 exist.
/// `Category::operators()` is for the operators of a framework: the Chrome export writes them as `cpu_op`.
class RANGEFINDER_EXPORT Category {
 public:
  constexpr Category() noexcept = default;
  explicit Category(std::string_view name) noexcept : id_(detail::intern_category(name)) {}
  static constexpr Category operators() noexcept { return Category(kOperatorId); }
  constexpr std::uint32_t id() const noexcept { return id_; }

 private:
  static constexpr std::uint32_t kOperatorId = 1;
  constexpr explicit Category(std::uint32_t id) noexcept : id_(id) {}
  std::uint32_t id_ = 0;  // 0: none
};

/// A value that travels with a range or a mark: an integer, a double or a text (interned like a name).
class Payload {
 public:
  template <typename T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>, int> = 0>
  Payload(T value) noexcept  // NOLINT(google-explicit-constructor)
      : extra_{std::is_signed_v<T> ? detail::ExtraKind::kSigned : detail::ExtraKind::kUnsigned,
               static_cast<std::uint64_t>(value),
               {}} {}
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  Payload(T value) noexcept : extra_{detail::ExtraKind::kDouble, 0, {}} {  // NOLINT(google-explicit-constructor)
    const auto number = static_cast<double>(value);
    std::memcpy(&extra_.bits, &number, sizeof number);
  }
  Payload(std::string_view text) noexcept  // NOLINT(google-explicit-constructor)
      : extra_{detail::ExtraKind::kText, 0, text} {}
  Payload(const char* text) noexcept : Payload(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)

  const detail::Extra& extra() const noexcept { return extra_; }

 private:
  detail::Extra extra_;
};

#if !defined(RANGEFINDER_DISABLE)

/// Marks the calling thread's work from construction to destruction. Device activity launched meanwhile is projected
/// onto it; see projection.hpp.
///
///   { rangefinder::ProfileRange range{"forward"};              // a literal: found again by its address
///     loss = model->forward(batch); }
///   { rangefinder::ProfileRange range{layer.name()};           // a run-time name: hashed on every entry
///     x = layer(x); }
///   rangefinder::ProfileRange range{"decode", tokens.size()};  // with a payload: a number is as fast, a text is not
///
/// Units:   nanoseconds on the capture clock.
/// Source:  the clock of detail/ticks.hpp at both ends; makes no CUDA call.
/// Errors:  none reach the caller. Without memory the whole range is dropped and CaptureHealth::dropped_ranges grows.
/// Threads: end on the thread that began. A range that ends elsewhere (a coroutine) is closed and flagged
///          (CaptureHealth::foreign_ends). Ranges nest per thread; threads share no lock.
/// Signals: may be opened in a signal handler; dropped and counted there if the thread was writing a record.
/// Cost:    one load and a branch while nothing listens; two clock reads and 32 bytes while recording, 48 with a number
///          as the payload; a text payload adds a call and a look-up under a lock. No allocation after a thread's first
///          range. Measured in docs/reference/measured.md.
class ProfileRange {
 public:
  template <std::size_t N>
  RANGEFINDER_INLINE explicit ProfileRange(const char (&literal)[N]) noexcept
      : token_(detail::begin_literal(literal, N - 1, 0, word_)) {}
  template <std::size_t N>
  RANGEFINDER_INLINE ProfileRange(const char (&literal)[N], Category category) noexcept
      : token_(detail::begin_literal(literal, N - 1, category.id(), word_)) {}

  RANGEFINDER_INLINE explicit ProfileRange(const RangeName& name) noexcept
      : word_(detail::make_word(detail::RecordKind::kBegin, name.id())), token_(detail::begin_word(word_)) {}
  RANGEFINDER_INLINE ProfileRange(const RangeName& name, Category category) noexcept
      : word_(detail::make_word(detail::RecordKind::kBegin, name.id(), category.id())),
        token_(detail::begin_word(word_)) {}

  RANGEFINDER_INLINE explicit ProfileRange(std::string_view name) noexcept
      : token_(detail::begin_text(name.data(), name.size(), 0, word_)) {}
  RANGEFINDER_INLINE ProfileRange(std::string_view name, Category category) noexcept
      : token_(detail::begin_text(name.data(), name.size(), category.id(), word_)) {}
  // A buffer that is being written to is not a literal, whatever its type says.
  template <std::size_t N>
  RANGEFINDER_INLINE explicit ProfileRange(char (&buffer)[N]) noexcept : ProfileRange(std::string_view(buffer)) {}

  template <std::size_t N>
  RANGEFINDER_INLINE ProfileRange(const char (&literal)[N], const Payload& payload) noexcept
      : token_(detail::begin_literal_with(literal, N - 1, 0, payload.extra(), word_)) {}
  template <std::size_t N>
  RANGEFINDER_INLINE ProfileRange(const char (&literal)[N], Category category, const Payload& payload) noexcept
      : token_(detail::begin_literal_with(literal, N - 1, category.id(), payload.extra(), word_)) {}
  RANGEFINDER_INLINE ProfileRange(const RangeName& name, const Payload& payload) noexcept
      : ProfileRange(name, Category(), payload) {}
  RANGEFINDER_INLINE ProfileRange(const RangeName& name, Category category, const Payload& payload) noexcept
      : word_(detail::make_word(detail::RecordKind::kBegin, name.id(), category.id())),
        token_(detail::begin_word_with(word_, payload.extra())) {}
  RANGEFINDER_INLINE ProfileRange(std::string_view name, const Payload& payload) noexcept
      : token_(detail::begin_text_with(name.data(), name.size(), 0, payload.extra(), word_)) {}
  RANGEFINDER_INLINE ProfileRange(std::string_view name, Category category, const Payload& payload) noexcept
      : token_(detail::begin_text_with(name.data(), name.size(), category.id(), payload.extra(), word_)) {}

  RANGEFINDER_INLINE ~ProfileRange() { detail::end(token_, word_); }

  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
  static void* operator new(std::size_t) = delete;  // a scope, so it lives on the stack
  static void* operator new[](std::size_t) = delete;

 private:
  // Mutable, though nothing changes them: GCC keeps the members of a const object in memory otherwise, and a range is
  // often const. Measured: 3 ns of 24.
  mutable std::uint64_t word_ = 0;
  mutable std::uint64_t token_;  // 0: nothing was listening when the range began
};

namespace detail {
template <typename T>
inline constexpr bool is_counter_value = std::is_arithmetic_v<T> || std::is_enum_v<T>;
RANGEFINDER_EXPORT void mark_slow(std::string_view name, std::uint32_t category, const Extra* extra) noexcept;
RANGEFINDER_EXPORT void counter_slow(std::string_view name, const Extra& value) noexcept;
RANGEFINDER_EXPORT void mark_named(std::uint32_t name, const Extra* extra) noexcept;
RANGEFINDER_EXPORT void counter_named(std::uint32_t name, const Extra& value) noexcept;
RANGEFINDER_EXPORT std::uint64_t async_begin_slow(std::string_view name, std::uint32_t category) noexcept;
RANGEFINDER_EXPORT void async_end_slow(std::uint64_t handle) noexcept;
}  // namespace detail

/// Records an instant on the calling thread. Costs as ProfileRange with a run-time name, plus a call.
inline void mark(std::string_view name) noexcept {
  if (detail::active.load(std::memory_order_relaxed) != 0) detail::mark_slow(name, 0, nullptr);
}
inline void mark(std::string_view name, const Payload& payload) noexcept {
  if (detail::active.load(std::memory_order_relaxed) != 0) detail::mark_slow(name, 0, &payload.extra());
}

/// The same by a name that is kept, which is not hashed again.
inline void mark(const RangeName& name) noexcept {
  if (detail::active.load(std::memory_order_relaxed) != 0) detail::mark_named(name.id(), nullptr);
}
inline void mark(const RangeName& name, const Payload& payload) noexcept {
  if (detail::active.load(std::memory_order_relaxed) != 0) detail::mark_named(name.id(), &payload.extra());
}

/// Records one sample of a named series of the process (loss, queue length, tokens). `value`: a number, a bool or an
/// enumerator.
template <typename Number>
void counter(std::string_view name, Number value) noexcept {
  static_assert(detail::is_counter_value<Number>, "rangefinder::counter: the value of a counter is a number");
  if (detail::active.load(std::memory_order_relaxed) != 0) detail::counter_slow(name, Payload(value).extra());
}

/// The same by a name that is kept, which is not hashed again.
template <typename Number>
void counter(const RangeName& name, Number value) noexcept {
  static_assert(detail::is_counter_value<Number>, "rangefinder::counter: the value of a counter is a number");
  if (detail::active.load(std::memory_order_relaxed) != 0) detail::counter_named(name.id(), Payload(value).extra());
}

/// Names a range that begins on one thread and may end on another; 0 while nothing listens.
enum class RangeHandle : std::uint64_t { kInvalid = 0 };

/// Opens a range that `end_range` closes, from any thread. Such ranges overlap freely and own no device activity by
/// nesting: activity belongs to scoped ranges first, and to these only on the thread that opened them.
inline RangeHandle start_range(std::string_view name, Category category = {}) noexcept {
  if (detail::active.load(std::memory_order_relaxed) == 0) return RangeHandle::kInvalid;
  return static_cast<RangeHandle>(detail::async_begin_slow(name, category.id()));
}
inline void end_range(RangeHandle handle) noexcept {
  if (handle != RangeHandle::kInvalid) detail::async_end_slow(static_cast<std::uint64_t>(handle));
}

/// Owns a range of `start_range`, and ends it when it is destroyed, on whatever thread. Can be moved, into a task or a
/// request for example.
///
///   queue.push({request, rangefinder::UniqueRange{"request"}});  // ends when the worker has dropped the request
class [[nodiscard]] UniqueRange {
 public:
  UniqueRange() noexcept = default;
  explicit UniqueRange(std::string_view name, Category category = {}) noexcept : handle_(start_range(name, category)) {}
  ~UniqueRange() { end(); }
  UniqueRange(UniqueRange&& other) noexcept : handle_(std::exchange(other.handle_, RangeHandle::kInvalid)) {}
  UniqueRange& operator=(UniqueRange&& other) noexcept {
    if (this != &other) {
      end();
      handle_ = std::exchange(other.handle_, RangeHandle::kInvalid);
    }
    return *this;
  }

  /// Ends it now; further calls do nothing.
  void end() noexcept { end_range(std::exchange(handle_, RangeHandle::kInvalid)); }

 private:
  RangeHandle handle_ = RangeHandle::kInvalid;
};

#else  // RANGEFINDER_DISABLE

// In a namespace of its own, so that translation units with and without the switch can be linked together.
inline namespace disabled {
class ProfileRange {
 public:
  template <typename Name, typename... Rest>
  constexpr explicit ProfileRange(Name&&, Rest&&...) noexcept {}
  ~ProfileRange() {}  // not trivial, so that an otherwise unused variable draws no warning
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;
};
enum class RangeHandle : std::uint64_t { kInvalid = 0 };
template <typename... Arguments>
inline void mark(Arguments&&...) noexcept {}
template <typename... Arguments>
inline void counter(Arguments&&...) noexcept {}
template <typename... Arguments>
inline RangeHandle start_range(Arguments&&...) noexcept {
  return RangeHandle::kInvalid;
}
inline void end_range(RangeHandle) noexcept {}
class [[nodiscard]] UniqueRange {
 public:
  UniqueRange() noexcept = default;
  template <typename Name, typename... Rest>
  explicit UniqueRange(Name&&, Rest&&...) noexcept {}
  ~UniqueRange() {}  // likewise
  UniqueRange(UniqueRange&&) noexcept {}
  UniqueRange& operator=(UniqueRange&&) noexcept { return *this; }
  void end() noexcept {}
};
}  // namespace disabled

#endif

}  // namespace rangefinder

#define RANGEFINDER_CONCAT_(a, b) a##b
#define RANGEFINDER_CONCAT(a, b) RANGEFINDER_CONCAT_(a, b)
/// RANGEFINDER_RANGE("name"): a ProfileRange until the end of the enclosing scope, with a name of its own.
#define RANGEFINDER_RANGE(...) \
  const ::rangefinder::ProfileRange RANGEFINDER_CONCAT(rangefinder_range_, __COUNTER__) { __VA_ARGS__ }
