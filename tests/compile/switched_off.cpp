// SPDX-License-Identifier: MIT
//
// Compiled with RANGEFINDER_DISABLE: every way to write a range still compiles, and none does anything.
#include <rangefinder/range.hpp>

#include <string>
#include <string_view>
#include <utility>

#if !defined(RANGEFINDER_DISABLE)
#error "this file is about RANGEFINDER_DISABLE"
#endif

void switched_off();

static_assert(sizeof(rangefinder::ProfileRange) == 1, "nothing is kept");

void switched_off() {
  const std::string text = "text";
  char buffer[] = "buffer";
  const rangefinder::ProfileRange of_literal{"literal"};
  const rangefinder::ProfileRange of_text{text};
  const rangefinder::ProfileRange of_view{std::string_view(text), rangefinder::Category::operators()};
  const rangefinder::ProfileRange of_buffer{buffer};
  const rangefinder::ProfileRange with_number{"literal", 1};
  RANGEFINDER_RANGE("macro");
  rangefinder::mark("mark");
  rangefinder::mark(text, 1);
  rangefinder::counter("counter", 1u);
  const rangefinder::RangeHandle handle = rangefinder::start_range(text);
  rangefinder::end_range(handle);
  if (handle != rangefinder::RangeHandle::kInvalid) rangefinder::mark("never");
  rangefinder::UniqueRange unique{text, rangefinder::Category::operators()};
  rangefinder::UniqueRange moved = std::move(unique);
  unique = rangefinder::UniqueRange{"another"};
  moved.end();
}
