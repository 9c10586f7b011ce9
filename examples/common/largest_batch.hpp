// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace examples {

/// The largest batch of 1 to `most` that fits; 0 where not even one does. Doubles until one does not fit, then halves
/// the interval: tries grow with the logarithm. What is larger than a batch that does not fit must not fit either.
inline std::int64_t largest_batch(std::int64_t most, const std::function<bool(std::int64_t)>& fits) {
  std::int64_t fitting = 0, too_large = most + 1;
  for (std::int64_t batch = 1; batch < too_large;) {
    if (!fits(batch)) {
      too_large = batch;
      break;
    }
    fitting = batch;
    batch = batch == most ? too_large : std::min(2 * batch, most);
  }
  while (too_large - fitting > 1) {
    const std::int64_t middle = fitting + (too_large - fitting) / 2;
    (fits(middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

}  // namespace examples
