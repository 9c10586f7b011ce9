// SPDX-License-Identifier: MIT
//
// Mistakes that the compiler must find, one at a time.
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

void function(rangefinder::Session& session) {
  rangefinder::ProfileRange range{"range"};
#if MISTAKE_COPY_RANGE
  rangefinder::ProfileRange copy{range};
#endif
#if MISTAKE_ASSIGN_RANGE
  range = range;
#endif
#if MISTAKE_HEAP_RANGE
  delete new rangefinder::ProfileRange{"on the heap"};
#endif
#if MISTAKE_HEAP_RANGES
  delete[] new rangefinder::ProfileRange[1]{rangefinder::ProfileRange{"on the heap"}};
#endif
#if MISTAKE_TEXT_AS_COUNTER
  rangefinder::counter("loss", "0.5");
#else
  rangefinder::counter("loss", 0.5);
#endif
#if MISTAKE_COPY_UNIQUE_RANGE
  const rangefinder::UniqueRange unique{"unique"};
  rangefinder::UniqueRange another{unique};
#endif
#if MISTAKE_IGNORED_STATUS
  session.stop();
#endif
  (void)session;
}
