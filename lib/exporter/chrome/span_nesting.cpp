// SPDX-License-Identifier: MIT
#include "exporter/chrome/span_nesting.hpp"

#include <algorithm>

namespace rangefinder::chrome {

/// Everything that began inside it and is not around the activity is over, for all that the row knows.
void SpanNesting::close_inside(Key key) {
  for (; open_.back() != key; open_.pop_back()) {
    if (states_.contains(open_.back())) states_.set(open_.back(), kClosed);
  }
}

void SpanNesting::open_begun() {
  if (states_.size() + begun_.size() > most_) {
    states_.for_each([&](Key key, std::uint32_t) { forgotten_to_ = std::max(forgotten_to_, key); });
    states_.clear();
    open_.clear();
  }
  for (std::size_t i = begun_.size(); i-- > 0;) {
    states_.set(begun_[i], kOpen);
    open_.push_back(begun_[i]);
  }
}

bool SpanNesting::end(Key key) {
  const std::uint32_t state = states_.find(key);
  if (state == States::kAbsent) return false;
  states_.erase(key);
  constexpr std::size_t kSlack = 64;
  if (open_.size() > 2 * states_.size() + kSlack)
    std::erase_if(open_, [&](Key open) { return !states_.contains(open); });
  return state != kCuts;
}

}  // namespace rangefinder::chrome
