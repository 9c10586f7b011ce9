// SPDX-License-Identifier: MIT
#include "common/serving.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace examples {

namespace bench = rangefinder::bench;

double RequestClock::now_ns() const {
  synchronize_();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void RequestClock::first_token() {
  const double now = now_ns();
  prompts_ns_ += now - edge_ns_;
  edge_ns_ = now;
}

void RequestClock::end(std::int64_t tokens) {
  decoding_ns_ += now_ns() - edge_ns_;
  tokens_ += static_cast<double>(tokens);
  ++requests_;
}

double RequestClock::first_token_ns() const { return prompts_ns_ / requests_; }
double RequestClock::decode_tokens_per_s() const { return tokens_ * 1e9 / decoding_ns_; }

std::vector<bench::Metric> serving_metrics(const std::function<void()>& synchronize,
                                           const std::function<void(RequestClock&)>& serve) {
  double first_token_ns = std::numeric_limits<double>::infinity(), tokens_per_s = 0;
  for (int run = 0; run < 3; ++run) {
    RequestClock clock(synchronize);
    serve(clock);
    first_token_ns = std::min(first_token_ns, clock.first_token_ns());
    tokens_per_s = std::max(tokens_per_s, clock.decode_tokens_per_s());
  }
  return {{"first_token_ns", first_token_ns, bench::MetricKind::kTime},
          {"decode_tokens_per_s", tokens_per_s, bench::MetricKind::kRate}};
}

}  // namespace examples
