// SPDX-License-Identifier: MIT
#include "common/largest_batch.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using examples::largest_batch;

TEST_CASE("the largest batch that fits is found, whatever it is", "[examples]") {
  constexpr std::int64_t kMost = 100;
  for (std::int64_t room = 0; room <= kMost + 5; ++room) {
    std::vector<std::int64_t> tried;
    const std::int64_t found = largest_batch(kMost, [&](std::int64_t batch) {
      tried.push_back(batch);
      return batch <= room;
    });
    CHECK(found == std::min(room, kMost));
    CHECK(tried.size() <= 15);  // twice the logarithm
    CHECK(*std::max_element(tried.begin(), tried.end()) <= std::max<std::int64_t>(2 * room, 1));
    std::sort(tried.begin(), tried.end());
    CHECK(std::adjacent_find(tried.begin(), tried.end()) == tried.end());  // none is tried twice
  }
}

TEST_CASE("no batch is tried where there are no samples", "[examples]") {
  CHECK(largest_batch(0, [](std::int64_t) -> bool { throw 1; }) == 0);
  CHECK(largest_batch(1, [](std::int64_t batch) { return batch == 1; }) == 1);
}
