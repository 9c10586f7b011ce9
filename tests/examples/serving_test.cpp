// SPDX-License-Identifier: MIT
#include "common/serving.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <string>
#include <vector>

using examples::RequestClock;
namespace bench = rangefinder::bench;

namespace {

/// Work of at least a nanosecond, so that no part takes no time.
void work() {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() == begin) {
  }
}

}  // namespace

TEST_CASE("requests are timed with the device idle at each edge", "[examples]") {
  std::string order;
  RequestClock clock([&] { order += 's'; });
  for (int request = 0; request < 2; ++request) {
    clock.begin();
    order += 'p';
    work();
    clock.first_token();
    order += 'd';
    work();
    clock.end(3);
  }
  CHECK(order == "spsdsspsds");
  CHECK(clock.first_token_ns() > 0);
  CHECK(clock.decode_tokens_per_s() > 0);
}

TEST_CASE("metrics of requests are the best of three runs", "[examples]") {
  int runs = 0;
  const std::vector<bench::Metric> metrics = examples::serving_metrics([] {},
                                                                       [&](RequestClock& clock) {
                                                                         ++runs;
                                                                         clock.begin();
                                                                         work();
                                                                         clock.first_token();
                                                                         work();
                                                                         clock.end(5);
                                                                       });
  CHECK(runs == 3);
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0].name == "first_token_ns");
  CHECK(metrics[0].kind == bench::MetricKind::kTime);
  CHECK(metrics[1].name == "decode_tokens_per_s");
  CHECK(metrics[1].kind == bench::MetricKind::kRate);
  CHECK(metrics[1].value > 0);
}
