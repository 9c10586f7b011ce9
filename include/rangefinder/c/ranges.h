// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Ranges, marks and counters of the program. Missing in libraries built without the recording half.

#if defined(__cplusplus)
extern "C" {
#endif

/// An interned name; 0: none, such ranges are recorded unnamed and counted.
typedef uint32_t rf_name;
/// An interned category, by which filters and exporters group ranges; 0: none.
typedef uint32_t rf_category;

/// For the life of the process; keep the result, one per call site. 0 on failure, also when the table is full (65,535
/// categories). Text past 16 KiB is cut and counted.
RF_API rf_name rf_name_intern(const char* text) RF_NOEXCEPT;
RF_API rf_category rf_category_intern(const char* text) RF_NOEXCEPT;

typedef enum rf_value_kind {
  RF_VALUE_NONE = 0,
  RF_VALUE_UNSIGNED = 1,
  RF_VALUE_SIGNED = 2,
  RF_VALUE_DOUBLE = 3,
  RF_VALUE_TEXT = 4  ///< interned like a name
} rf_value_kind;

/// A value that travels with a range, a mark or a counter. Made by the functions below.
typedef struct rf_value {
  uint64_t kind;  ///< an rf_value_kind
  union {
    uint64_t as_unsigned;
    int64_t as_signed;
    double as_double;
    const char* as_text;
  } of;
} rf_value;

static inline rf_value rf_none(void) {
  rf_value value;
  value.kind = RF_VALUE_NONE;
  value.of.as_unsigned = 0;
  return value;
}
static inline rf_value rf_unsigned(uint64_t number) {
  rf_value value;
  value.kind = RF_VALUE_UNSIGNED;
  value.of.as_unsigned = number;
  return value;
}
static inline rf_value rf_signed(int64_t number) {
  rf_value value;
  value.kind = RF_VALUE_SIGNED;
  value.of.as_signed = number;
  return value;
}
static inline rf_value rf_double(double number) {
  rf_value value;
  value.kind = RF_VALUE_DOUBLE;
  value.of.as_double = number;
  return value;
}
static inline rf_value rf_string(const char* text) {
  rf_value value;
  value.kind = RF_VALUE_TEXT;
  value.of.as_text = text;
  return value;
}

/// Opens a range on the calling thread; rf_range_pop closes the innermost that these functions opened there. Device
/// activity launched meanwhile is projected onto it, as onto a ProfileRange of C++, with which they nest.
///
///   static rf_name forward;  // = rf_name_intern("forward")
///   rf_range_push(forward);
///   loss = model_forward(model, batch);
///   rf_range_pop();
///
/// Units:   nanoseconds on the capture clock.
/// Errors:  a range that could not be opened is popped like others. RF_STATUS_INVALID_ARGUMENT for a null name, a
///          category past 65,535 and a value that is none; RF_STATUS_INCOMPLETE deeper than 65,536 ranges, and where
///          there is no memory for the thread's stack of 1 MiB, taken as it is used. What else gets lost is counted in
///          the session's health.
/// Threads: pop on the thread that pushed; threads share no lock.
/// Signals: as ProfileRange in a handler, where the thread has pushed a range while something listened.
/// Cost:    two calls, each with a load or two and a branch, while nothing listens; the calls besides what a
///          ProfileRange takes while recording; no allocation after a thread's first range. By text: strlen and a hash
///          too. Measured in docs/reference/measured.md.
RF_API rf_status rf_range_push(rf_name name) RF_NOEXCEPT;
RF_API rf_status rf_range_push_text(const char* name) RF_NOEXCEPT;
/// With a category (0: none) and a value (rf_none(): none).
RF_API rf_status rf_range_push_with(const char* name, rf_category category, rf_value value) RF_NOEXCEPT;
/// Does nothing where no range of the thread is open: it may have been pushed before anything listened.
RF_API void rf_range_pop(void) RF_NOEXCEPT;

/// How many ranges the calling thread has open: pushed, since something listened, and not popped.
RF_API uint32_t rf_range_depth(void) RF_NOEXCEPT;
/// Pops until `depth` ranges are left; does nothing where there are not so many. For code that is left in ways that
/// pass by its pops: a longjmp, an interrupt, an exception of another language.
///
///   const uint32_t depth = rf_range_depth();
///   rf_range_push(step);
///   run(interpreter, script);  // may come back with ranges of the script open
///   rf_range_pop_to(depth);
RF_API void rf_range_pop_to(uint32_t depth) RF_NOEXCEPT;

/// Pops the innermost range of that name, for blocks that may end in another order than they began: those of
/// coroutines. True: it was the innermost of all, or the thread has none open. Else the ranges inside of it stay open,
/// or there is none of that name and nothing is popped.
RF_API bool rf_range_pop_named(rf_name name) RF_NOEXCEPT;

/// A range that its thread has left; 0 in all members: nothing.
typedef struct rf_suspended_range {
  uint64_t token;
  uint64_t word;
  uint64_t since;
} rf_suspended_range;

/// Takes the innermost range off the calling thread until rf_range_resume opens it again, innermost: for coroutines and
/// fibers, whose ranges must be closed while others run on their thread. One range for reports, which count it once and
/// whose host time is that from its push to its pop; what is launched while it is suspended does not belong to it.
///
///   rf_suspended_range mine = rf_range_suspend();  // this coroutine waits
///   run_the_others();
///   rf_range_resume(mine);
///
/// For rf_range_depth they are a pop and a push. A range that is never resumed counts as unfinished. One that is
/// resumed in another recording, or in a pause of the schedule, is not recorded from there on. Threads: resume once, on
/// the thread that suspended. On another thread the time until then may be missing from the
///          range's host time.
/// Cost:    two records and two calls of the slow path, about as two ranges with a value.
RF_API rf_suspended_range rf_range_suspend(void) RF_NOEXCEPT;
RF_API void rf_range_resume(rf_suspended_range range) RF_NOEXCEPT;

/// False while nothing records ranges, marks and counters: then there is no need to compute their values. Cost: a load.
RF_API bool rf_listening(void) RF_NOEXCEPT;

/// Names a range that begins on one thread and may end on another.
typedef uint64_t rf_range_handle;

/// Opens a range that rf_range_end closes, from any thread. Such ranges overlap freely; device activity belongs to
/// pushed ranges first, and to these only on the thread that opened them. 0 while nothing listens, and for a null name.
RF_API rf_range_handle rf_range_start(const char* name, rf_category category) RF_NOEXCEPT;
/// 0 does nothing.
RF_API void rf_range_end(rf_range_handle range) RF_NOEXCEPT;

/// Records an instant on the calling thread, with a value or rf_none().
RF_API rf_status rf_mark(const char* name, rf_value value) RF_NOEXCEPT;
/// Records one sample of a named series of the process (loss, queue length, tokens). Numbers only.
RF_API rf_status rf_counter(const char* name, rf_value value) RF_NOEXCEPT;
/// The same by a name that is interned, which is not hashed again.
RF_API rf_status rf_mark_named(rf_name name, rf_value value) RF_NOEXCEPT;
RF_API rf_status rf_counter_named(rf_name name, rf_value value) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
