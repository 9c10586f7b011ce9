// SPDX-License-Identifier: MIT
#include "compare/random_run.hpp"

#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <array>
#include <limits>
#include <string>

namespace rangefinder::testing {
namespace {

constexpr std::array kRangeNames{"train", "forward", "layers.0", "layers.1", "layers.2", "loss", "encoder"};
constexpr std::array kOperatorNames{"aten::addmm", "aten::mul", "aten::layer_norm"};
constexpr std::array kKernelNames{"ampere_sgemm_128x64_tn", "Cijk_Alik_Bljk_BBS_BH_MT256x192x64",
                                  "vectorized_elementwise_kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "odd"};

template <typename Names>
std::string any_of(const Names& names, std::mt19937_64& random) {
  return names[below(random, names.size())];
}

void add_ranges(TimelineBuilder& builder, std::mt19937_64& random, std::int64_t begin, std::int64_t end, int depth) {
  while (end - begin > 4 && depth < 4) {
    const auto from = begin + static_cast<std::int64_t>(below(random, 8));
    const auto to = from + 1 + static_cast<std::int64_t>(below(random, 60));
    if (to > end) return;
    const bool is_operator = below(random, 3) == 0;
    builder.range(is_operator ? any_of(kOperatorNames, random) : any_of(kRangeNames, random), from, to);
    if (is_operator) builder.of_kind(RangeKind::kOperator);
    add_ranges(builder, random, from, to, depth + 1);
    begin = to;
  }
}

void add_activity(TimelineBuilder& builder, std::mt19937_64& random, std::int64_t launched, std::int64_t begin,
                  std::int64_t end) {
  builder.on_device(static_cast<std::uint32_t>(below(random, 2)))
      .on_stream(static_cast<std::int64_t>(7 + below(random, 2)));
  if (below(random, 10) == 0)
    builder.without_launch(1'000 + below(random, 1'000));
  else
    builder.launch(launched);
  if (below(random, 6) == 0)
    builder.memcpy(begin, end, 64);
  else
    builder.kernel(begin, end, any_of(kKernelNames, random));
}

}  // namespace

Timeline random_run(std::mt19937_64& random) {
  TimelineBuilder builder;
  add_ranges(builder, random, 0, kRandomRunEnd, 0);
  if (below(random, 4) != 0) {
    std::int64_t at = static_cast<std::int64_t>(below(random, 20));
    for (std::int64_t number = 1; number < 6 && at < kRandomRunEnd - 40; ++number) {
      const std::int64_t end = at + 20 + static_cast<std::int64_t>(below(random, 60));
      builder.step(number, at, std::min(end, kRandomRunEnd), 10);
      at = end + static_cast<std::int64_t>(below(random, 3));
    }
  }
  const std::uint64_t count = below(random, 5) == 0 ? 0 : below(random, 40);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto launched = static_cast<std::int64_t>(below(random, kRandomRunEnd - 60));
    const auto begin = launched + static_cast<std::int64_t>(below(random, 30));
    add_activity(builder, random, launched, begin, begin + static_cast<std::int64_t>(below(random, 30)));
  }
  return builder.build();
}

Timeline hostile_run(std::mt19937_64& random) {
  constexpr std::array kTimes{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                              std::int64_t{0}, std::int64_t{-1}};
  const auto any_time = [&]() -> std::int64_t {
    if (below(random, 3) == 0) return kTimes[below(random, kTimes.size())];
    return static_cast<std::int64_t>(any_size(random)) * (below(random, 2) == 0 ? 1 : -1);
  };
  TimelineBuilder builder;
  for (std::uint64_t i = below(random, 12); i > 0; --i) {
    builder.on_thread(static_cast<std::int64_t>(1 + below(random, 2)));
    builder.range(any_of(kRangeNames, random), any_time(), any_time());
    if (below(random, 3) == 0) builder.of_kind(RangeKind::kOperator);
    if (below(random, 4) == 0) builder.start_end();
  }
  for (std::uint64_t i = below(random, 5); i > 0; --i)
    builder.step(static_cast<std::int64_t>(below(random, 3)), any_time(), any_time(), any_size(random));
  for (std::uint64_t i = below(random, 12); i > 0; --i)
    add_activity(builder, random, any_time(), any_time(), any_time());
  return builder.build();
}

}  // namespace rangefinder::testing
