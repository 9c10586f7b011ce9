// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace examples {

/// Wall time of requests, in two parts: until the first token after the prompt is known, and of the tokens after it.
///
///   clock.begin();
///   read(prompt);
///   clock.first_token();
///   for (std::int64_t token = 0; token < count; ++token) decode();
///   clock.end(count);
class RequestClock {
 public:
  /// What waits for the device runs at each edge, so that work of one part is not counted in the next.
  explicit RequestClock(std::function<void()> synchronize) : synchronize_(std::move(synchronize)) {}
  void begin() { edge_ns_ = now_ns(); }
  void first_token();
  /// `tokens` were decoded after the first one.
  void end(std::int64_t tokens);

  /// Of a request, on average.
  double first_token_ns() const;
  double decode_tokens_per_s() const;

 private:
  double now_ns() const;

  std::function<void()> synchronize_;
  double edge_ns_ = 0, prompts_ns_ = 0, decoding_ns_ = 0, requests_ = 0, tokens_ = 0;
};

/// `first_token_ns` and `decode_tokens_per_s`: the best of three times that `serve` serves its requests. For
/// Variant::metrics: timed steps have no edge to wait at.
std::vector<rangefinder::bench::Metric> serving_metrics(const std::function<void()>& synchronize,
                                                        const std::function<void(RequestClock&)>& serve);

}  // namespace examples
