// SPDX-License-Identifier: MIT
#include "importer/kineto/begin_end.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::importer::kineto {

void BeginEndPairs::add(const Event& event, ThreadIndex thread, std::int64_t source_row) {
  const bool begin = event.phase == 'B';
  halves_.push_back({event.time.ns, source_row, text_.size(), begin ? event.json.size() : 0, thread, begin});
  if (begin) text_.append(event.json);
}

void BeginEndPairs::sort() {
  std::sort(halves_.begin(), halves_.end(), [](const Half& a, const Half& b) {
    return std::tie(a.thread, a.time_ns, a.source_row) < std::tie(b.thread, b.time_ns, b.source_row);
  });
}

const Event& BeginEndPairs::whole(const Half& begin, std::int64_t end_ns, bool unfinished) {
  Cursor cursor;
  cursor.at = text_.data() + begin.text;
  cursor.end = text_.data() + text_.size() - kPadding;
  reader_.read(cursor, event_);  // was read before, so it is whole
  event_.phase = 'X';
  event_.duration.state = EventTime::State::kExact;
  // Times of a file that was not written by a clock may lie further apart than 64 bits count.
  if (__builtin_sub_overflow(end_ns, begin.time_ns, &event_.duration.ns))
    event_.duration.state = EventTime::State::kUnusable;
  if (unfinished) event_.arguments.present |= EventArguments::kUnfinished;
  return event_;
}

}  // namespace rangefinder::importer::kineto
