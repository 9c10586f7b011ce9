// SPDX-License-Identifier: MIT
#include "exporter/chrome/span_nesting.hpp"

#include <algorithm>

namespace rangefinder::chrome {

/// Everything that began inside it and is not around the activity is over, for all that the row knows.
void SpanNesting::close_inside(Key key) {
  for (; open_.back() != key; open_.pop_back()) {
    if (const auto inner = states_.find(open_.back()); inner != states_.end()) inner->second = State::kClosed;
  }
}

void SpanNesting::open_begun() {
  if (states_.size() + begun_.size() > most_) {
    for (const auto& [key, state] : states_) forgotten_to_ = std::max(forgotten_to_, key);
    states_.clear();
    open_.clear();
  }
  for (std::size_t i = begun_.size(); i-- > 0;) {
    states_.emplace(begun_[i], State::kOpen);
    open_.push_back(begun_[i]);
  }
}

bool SpanNesting::end(Key key) {
  const auto found = states_.find(key);
  if (found == states_.end()) return false;
  const bool cuts = found->second == State::kCuts;
  states_.erase(found);
  constexpr std::size_t kSlack = 64;
  if (open_.size() > 2 * states_.size() + kSlack)
    std::erase_if(open_, [&](Key open) { return !states_.contains(open); });
  return !cuts;
}

}  // namespace rangefinder::chrome
