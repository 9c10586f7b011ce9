// SPDX-License-Identifier: MIT
#include "capi/status.hpp"

#include <rangefinder/detail/suspended_range.hpp>
#include <rangefinder/range.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace rangefinder::capi {
namespace {

using detail::OpenRange;

constexpr std::uint32_t kDeepest = 65536;
constexpr std::size_t kStackBytes = kDeepest * sizeof(OpenRange);
constexpr rf_category kCategories = 65536;

/// What a thread has pushed since something listened. Ranges that were pushed before that are not kept: they lie below
/// all that are, so that their pops find nothing. Ranges past the capacity are counted in the depth alone.
struct Stack {
  OpenRange* places;
  std::uint32_t capacity;  // 0 until the thread's first range that is kept
  std::uint32_t depth;
};

// Reached without a call, as detail::hot_thread is, and taken from the same reserve: 16 bytes of it.
__thread Stack thread_stack __attribute__((tls_model("initial-exec")));

void release_stack(void* places) noexcept {
  thread_stack = {};
  ::munmap(places, kStackBytes);
}

const pthread_key_t* exit_key() noexcept {
  static pthread_key_t key;
  static const bool made = ::pthread_key_create(&key, release_stack) == 0;
  return made ? &key : nullptr;
}

// Mapped at its full size, of which the system gives what is touched: a stack that never moves can be used by a signal
// handler that interrupts a push.
bool map_stack(Stack& stack) noexcept {
  const pthread_key_t* const key = exit_key();
  if (key == nullptr) return false;
  void* const places =
      ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (places == MAP_FAILED) return false;
  if (::pthread_setspecific(*key, places) != 0) return ::munmap(places, kStackBytes), false;
  stack.places = static_cast<OpenRange*>(places);  // zero: ranges that were pushed before are ones that did not listen
  stack.capacity = kDeepest;
  return true;
}

RANGEFINDER_INLINE bool somebody_listens() noexcept { return detail::active.load(std::memory_order_relaxed) != 0; }

/// Nothing listens and nothing is kept. A range that opens in a pause of the recording is kept, or its pop would end
/// the one around it.
RANGEFINDER_INLINE bool idle() noexcept { return !somebody_listens() && thread_stack.depth == 0; }

[[gnu::cold, gnu::noinline]] rf_status no_place() noexcept {
  return fail(RF_STATUS_INCOMPLETE,
              {"rf_range_push: the thread has 65,536 ranges open, or no memory for so many; this one is not recorded. "
               "Pop what was pushed"});
}

/// Keeps the range that `begin` opens.
template <typename Begin>
RANGEFINDER_INLINE rf_status push(Begin begin) noexcept {
  Stack& stack = thread_stack;
  const std::uint32_t depth = stack.depth;
  if (!RANGEFINDER_LIKELY(depth < stack.capacity) && stack.places == nullptr) map_stack(stack);
  stack.depth = depth + 1;
  if (!RANGEFINDER_LIKELY(depth < stack.capacity)) return no_place();
  // A signal handler that comes from here on pushes above.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  OpenRange& place = stack.places[depth];
  place.token = 0;
  return begin(place);
}

// Functions of their own, so that those which are exported save no register while nothing listens.
[[gnu::noinline]] rf_status push_word(std::uint64_t word) noexcept {
  return push([word](OpenRange& place) {
    std::uint64_t begun = word;
    place.token = detail::begin_word(begun);
    place.word = begun;
    return RF_STATUS_OK;
  });
}

[[gnu::noinline]] rf_status push_text(const char* name, rf_category category) noexcept {
  return push([=](OpenRange& place) {
    std::uint64_t begun = 0;
    place.token = detail::begin_text(name, std::strlen(name), category, begun);
    place.word = begun;
    return RF_STATUS_OK;
  });
}

/// For what could not be opened and will be popped.
[[gnu::cold]] rf_status push_failure(rf_status status) noexcept {
  return idle() ? status : push([status](OpenRange&) { return status; });
}

[[gnu::noinline]] void pop(Stack& stack) noexcept {
  const std::uint32_t last = stack.depth - 1;
  if (!RANGEFINDER_LIKELY(last < stack.capacity)) {
    stack.depth = last;
    return;
  }
  const OpenRange range = stack.places[last];
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stack.depth = last;
  detail::end(range.token, range.word);
}

/// What was pushed while nothing was recorded tells no name.
bool may_have_name(const OpenRange& range, rf_name name) noexcept {
  return range.word == 0 || detail::word_id(range.word) == name;
}

/// Ends the innermost range of that name, if there is one, and none inside of it.
[[gnu::cold]] void take_out(Stack& stack, rf_name name) noexcept {
  for (std::uint32_t place = stack.depth - 1; place-- > 0;) {
    const OpenRange range = stack.places[place];
    if (range.word == 0 || !may_have_name(range, name)) continue;
    std::memmove(stack.places + place, stack.places + place + 1, (stack.depth - 1 - place) * sizeof(OpenRange));
    --stack.depth;
    return detail::end_out_of_order(range.token, range.word);
  }
}

std::optional<Payload> payload_of(const rf_value& value) noexcept {
  switch (value.kind) {
    case RF_VALUE_UNSIGNED:
      return Payload(value.of.as_unsigned);
    case RF_VALUE_SIGNED:
      return Payload(value.of.as_signed);
    case RF_VALUE_DOUBLE:
      return Payload(value.of.as_double);
    case RF_VALUE_TEXT:
      if (value.of.as_text == nullptr) return std::nullopt;
      return Payload(value.of.as_text);
    default:
      return std::nullopt;
  }
}

rf_status no_value(std::string_view function) noexcept {
  return fail(
      RF_STATUS_INVALID_ARGUMENT,
      {function, ": the value has no kind that fits here, or a null text; make it with rf_double and the like"});
}

rf_status no_category(std::string_view function) noexcept {
  return fail(RF_STATUS_INVALID_ARGUMENT, {function, ": the category is none that rf_category_intern gave"});
}

std::optional<Payload> number_of(const rf_value& value) noexcept {
  return value.kind == RF_VALUE_TEXT ? std::nullopt : payload_of(value);
}

const detail::Extra* extra_of() noexcept { return nullptr; }
const detail::Extra* extra_of(const Payload& payload) noexcept { return &payload.extra(); }

/// Calls `record` with the value's payload, or with nothing for rf_none().
template <typename Record>
rf_status with_mark_value(std::string_view function, const rf_value& value, Record record) noexcept {
  if (value.kind == RF_VALUE_NONE) return record(), RF_STATUS_OK;
  const std::optional<Payload> payload = payload_of(value);
  if (!payload) return no_value(function);
  record(*payload);
  return RF_STATUS_OK;
}

}  // namespace
}  // namespace rangefinder::capi

namespace capi = rangefinder::capi;
namespace detail = rangefinder::detail;

rf_name rf_name_intern(const char* text) noexcept {
  if (text == nullptr) return capi::null_argument(__func__, "text"), 0;
  const rf_name name = rangefinder::RangeName(text).id();
  if (name == 0) capi::fail(RF_STATUS_INCOMPLETE, {__func__, ": the table of names is full"});
  return name;
}

rf_category rf_category_intern(const char* text) noexcept {
  if (text == nullptr) return capi::null_argument(__func__, "text"), 0;
  const rf_category category = rangefinder::Category(text).id();
  if (category == 0) capi::fail(RF_STATUS_INCOMPLETE, {__func__, ": the table of categories is full"});
  return category;
}

rf_status rf_range_push(rf_name name) noexcept {
  if (capi::idle()) return RF_STATUS_OK;
  return capi::push_word(detail::make_word(detail::RecordKind::kBegin, name));
}

rf_status rf_range_push_text(const char* name) noexcept {
  if (name == nullptr) return capi::push_failure(capi::null_argument(__func__, "name"));
  return capi::idle() ? RF_STATUS_OK : capi::push_text(name, 0);
}

rf_status rf_range_push_with(const char* name, rf_category category, rf_value value) noexcept {
  if (name == nullptr) return capi::push_failure(capi::null_argument(__func__, "name"));
  if (category >= capi::kCategories) return capi::push_failure(capi::no_category(__func__));
  const std::optional<rangefinder::Payload> payload = capi::payload_of(value);
  if (!payload && value.kind != RF_VALUE_NONE) return capi::push_failure(capi::no_value(__func__));
  if (capi::idle()) return RF_STATUS_OK;
  if (!payload) return capi::push_text(name, category);
  return capi::push([&](detail::OpenRange& place) {
    std::uint64_t begun = 0;
    place.token = detail::begin_text_with(name, std::strlen(name), category, payload->extra(), begun);
    place.word = begun;
    return RF_STATUS_OK;
  });
}

void rf_range_pop(void) noexcept {
  if (capi::thread_stack.depth != 0) capi::pop(capi::thread_stack);
}

uint32_t rf_range_depth(void) noexcept { return capi::thread_stack.depth; }

void rf_range_pop_to(uint32_t depth) noexcept {
  while (capi::thread_stack.depth > depth) capi::pop(capi::thread_stack);
}

bool rf_range_pop_named(rf_name name) noexcept {
  capi::Stack& stack = capi::thread_stack;
  if (stack.depth == 0) return true;
  if (name == 0 || stack.depth > stack.capacity || capi::may_have_name(stack.places[stack.depth - 1], name))
    return capi::pop(stack), true;
  capi::take_out(stack, name);
  return false;
}

rf_suspended_range rf_range_suspend(void) noexcept {
  capi::Stack& stack = capi::thread_stack;
  if (stack.depth == 0) return {};
  const std::uint32_t last = stack.depth - 1;
  const bool kept = last < stack.capacity;
  const detail::SuspendedRange range = kept ? detail::suspend_range(stack.places[last]) : detail::SuspendedRange{};
  stack.depth = last;
  return {range.open.token, range.open.word, range.since_ticks};
}

void rf_range_resume(rf_suspended_range range) noexcept {
  if (capi::idle()) return;
  (void)capi::push([&](capi::OpenRange& place) {
    place = detail::resume_range({{range.token, range.word}, range.since});
    return RF_STATUS_OK;
  });
}

bool rf_listening(void) noexcept { return capi::somebody_listens(); }

rf_range_handle rf_range_start(const char* name, rf_category category) noexcept {
  if (name == nullptr) return capi::null_argument(__func__, "name"), 0;
  if (category >= capi::kCategories) return capi::no_category(__func__), 0;
  if (!capi::somebody_listens()) return 0;
  return detail::async_begin_slow(name, category);
}

void rf_range_end(rf_range_handle range) noexcept {
  rangefinder::end_range(static_cast<rangefinder::RangeHandle>(range));
}

rf_status rf_mark(const char* name, rf_value value) noexcept {
  if (name == nullptr) return capi::null_argument(__func__, "name");
  return capi::with_mark_value(__func__, value,
                               [name](const auto&... payload) { rangefinder::mark(name, payload...); });
}

rf_status rf_mark_named(rf_name name, rf_value value) noexcept {
  return capi::with_mark_value(__func__, value, [name](const auto&... payload) {
    if (capi::somebody_listens()) detail::mark_named(name, capi::extra_of(payload...));
  });
}

rf_status rf_counter(const char* name, rf_value value) noexcept {
  if (name == nullptr) return capi::null_argument(__func__, "name");
  const std::optional<rangefinder::Payload> payload = capi::number_of(value);
  if (!payload) return capi::no_value(__func__);
  if (capi::somebody_listens()) detail::counter_slow(name, payload->extra());
  return RF_STATUS_OK;
}

rf_status rf_counter_named(rf_name name, rf_value value) noexcept {
  const std::optional<rangefinder::Payload> payload = capi::number_of(value);
  if (!payload) return capi::no_value(__func__);
  if (capi::somebody_listens()) detail::counter_named(name, payload->extra());
  return RF_STATUS_OK;
}
