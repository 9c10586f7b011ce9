// SPDX-License-Identifier: MIT
#include "analysis/kernel_sequences.hpp"

#include "support/catch.hpp"
#include "support/csv_records.hpp"
#include "support/files.hpp"
#include "support/seed.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>>(int)";
constexpr const char* kMul = "void at::native::vectorized_elementwise_kernel<4, MulFunctor<float>>(int)";
constexpr const char* kGemm = "ampere_sgemm_32x128_tn";

std::vector<KernelSequence> sequences_of(const Timeline& timeline) {
  const KernelFamilies families(timeline);
  return kernel_sequences(timeline, project(timeline, {}), families, ShortKernels(timeline, families));
}

/// "step: 3 kernels, 2 runs, 60 ns, gaps 20 ns, fusion 40 ns of 6; ..."
std::string text_of(const Timeline& timeline) {
  std::string text;
  for (const KernelSequence& row : sequences_of(timeline)) {
    text += text.empty() ? "" : "; ";
    text += row.unowned ? "(none)" : std::string(timeline.text(row.range));
    text += ": " + std::to_string(row.first.size()) + " kernels, " + std::to_string(row.count) + " runs, " +
            std::to_string(row.kernel_ns) + " ns, gaps " + std::to_string(row.gap_ns) + " ns, fusion " +
            std::to_string(row.fusion_ns) + " ns of " + std::to_string(row.fusible);
  }
  return text;
}

/// Each launched at its number, and run behind the one before it with a gap of 5 ns.
void add_kernels(TimelineBuilder& builder, std::int64_t launch_ns, std::int64_t begin_ns,
                 std::initializer_list<std::pair<const char*, std::int64_t>> kernels) {
  for (const auto& [name, length_ns] : kernels) {
    builder.launch(launch_ns++).kernel(begin_ns, begin_ns + length_ns, name);
    begin_ns += length_ns + 5;
  }
}

}  // namespace

TEST_CASE("short kernels one after the other are a sequence, as often as they are the same", "[analysis]") {
  TimelineBuilder builder;
  for (std::int64_t t = 0; t < 2'000; t += 1'000) {
    builder.range("step", t, t + 900);
    add_kernels(builder, t + 1, t + 100, {{kAdd, 10}, {kMul, 20}, {kAdd, 30}});
  }
  // A run: 60 ns and two gaps. Fused, its longest kernel is left.
  CHECK(text_of(builder.build()) == "step: 3 kernels, 2 runs, 120 ns, gaps 20 ns, fusion 80 ns of 6");
}

TEST_CASE("products are in sequences, but are not fused", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 900);
  SECTION("they part the chains that can be") {
    add_kernels(builder, 1, 100, {{kAdd, 10}, {kMul, 20}, {kGemm, 50}, {kAdd, 30}, {kMul, 7}});
    CHECK(text_of(builder.build()) ==
          "step: 5 kernels, 1 runs, 117 ns, gaps 20 ns, fusion 27 ns of 4");  // 10 + 5, and 7 + 5
  }
  SECTION("one alone beside them has nothing to be fused with") {
    add_kernels(builder, 1, 100, {{kGemm, 10}, {kAdd, 20}});
    CHECK(text_of(builder.build()) == "step: 2 kernels, 1 runs, 30 ns, gaps 5 ns, fusion 0 ns of 0");
  }
}

TEST_CASE("what a CUDA graph could not have inside ends a sequence", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 900);
  SECTION("a copy") {
    add_kernels(builder, 1, 100, {{kAdd, 10}, {kMul, 20}});
    builder.launch(5).memcpy(140, 150, 64);
    add_kernels(builder, 6, 160, {{kAdd, 10}});
    CHECK(text_of(builder.build()) == "step: 2 kernels, 1 runs, 30 ns, gaps 5 ns, fusion 15 ns of 2");
  }
  SECTION("a long kernel") {
    add_kernels(builder, 1, 100, {{kAdd, 10}, {kMul, 20}, {"long", 50'000}, {kAdd, 10}});
    CHECK(text_of(builder.build()) == "step: 2 kernels, 1 runs, 30 ns, gaps 5 ns, fusion 15 ns of 2");
  }
  SECTION("communication, however short") {
    add_kernels(builder, 1, 100, {{kAdd, 10}, {"ncclKernel_AllReduce", 20}, {kAdd, 10}});
    CHECK(text_of(builder.build()).empty());
  }
  SECTION("another range") {
    builder.range("inner", 2, 10);
    add_kernels(builder, 1, 100, {{kAdd, 10}, {kMul, 20}, {kAdd, 10}});
    CHECK(text_of(builder.build()) == "inner: 2 kernels, 1 runs, 30 ns, gaps 5 ns, fusion 15 ns of 2");
  }
  SECTION("another thread") {
    add_kernels(builder, 1, 100, {{kAdd, 10}});
    builder.on_thread(2).range("step", 0, 900);
    add_kernels(builder, 2, 120, {{kAdd, 10}});
    CHECK(text_of(builder.build()).empty());
  }
  SECTION("a wait of the host for the device") {
    add_kernels(builder, 1, 100, {{kAdd, 10}});
    builder.call("cudaStreamSynchronize", 2, 118);
    add_kernels(builder, 120, 130, {{kAdd, 10}});
    CHECK(text_of(builder.build()).empty());
  }
  SECTION("not a wait of another thread") {
    add_kernels(builder, 1, 100, {{kAdd, 10}});
    builder.on_thread(2).call("cudaStreamSynchronize", 2, 118).on_thread(1);
    add_kernels(builder, 3, 115, {{kAdd, 10}});
    CHECK(text_of(builder.build()) == "step: 2 kernels, 1 runs, 20 ns, gaps 5 ns, fusion 15 ns of 2");
  }
  SECTION("the next step") {
    builder.step(0, 0, 2).step(1, 2, 900);
    add_kernels(builder, 1, 100, {{kAdd, 10}, {kAdd, 10}});
    CHECK(text_of(builder.build()).empty());
  }
  SECTION("work of a graph, which is in one already") {
    builder.launch(1).kernel(100, 110, kAdd).of_graph(kNone).kernel(115, 125, kAdd).of_graph(kNone, 2);
    CHECK(text_of(builder.build()).empty());
  }
  SECTION("work whose launch is not known") {
    add_kernels(builder, 1, 100, {{kAdd, 10}});
    builder.without_launch(99).kernel(115, 120, kAdd);
    CHECK(text_of(builder.build()).empty());
  }
}

TEST_CASE("other kernels or other ranges are other sequences, those that could save most first", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 900);
  add_kernels(builder, 1, 100, {{kAdd, 10}, {kAdd, 10}});
  builder.range("b", 1'000, 1'900);
  add_kernels(builder, 1'001, 1'100, {{kAdd, 100}, {kAdd, 100}});
  add_kernels(builder, 2'001, 2'100, {{kMul, 1}, {kAdd, 1}});
  CHECK(text_of(builder.build()) ==
        "b: 2 kernels, 1 runs, 200 ns, gaps 5 ns, fusion 105 ns of 2; "
        "a: 2 kernels, 1 runs, 20 ns, gaps 5 ns, fusion 15 ns of 2; "
        "(none): 2 kernels, 1 runs, 2 ns, gaps 5 ns, fusion 6 ns of 2");
}

TEST_CASE("kernels that overlap on a stream have no gap between them", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(1).kernel(100, 150, kAdd).launch(2).kernel(120, 130, kAdd).launch(3).kernel(140, 160, kAdd);
  CHECK(text_of(builder.build()) == "(none): 3 kernels, 1 runs, 80 ns, gaps 0 ns, fusion 30 ns of 3");
}

TEST_CASE("a kernel is short by the mean of its like, or against the calls that launch", "[analysis]") {
  const auto shorts = [](const Timeline& timeline) {
    const KernelFamilies families(timeline);
    const ShortKernels kernels(timeline, families);
    std::string text;
    for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) text += kernels.has(row) ? 's' : 'l';
    return text + " " + std::to_string(kernels.limit_ns());
  };
  SECTION("alike are those of one name") {
    TimelineBuilder builder;
    builder.launch(1).kernel(0, 2'000, "a").launch(2).kernel(3'000, 15'000, "a").launch(3).kernel(20'000, 32'000, "b");
    CHECK(shorts(builder.build()) == "ssl 10000");
  }
  SECTION("and of one grid") {
    TimelineBuilder builder;
    builder.launch(1).kernel(0, 2'000, "a").launch(2).kernel(3'000, 25'000, "a");
    builder.timeline().kernel_details[0].grid[0] = 1;
    builder.timeline().kernel_details[1].grid[0] = 64;
    CHECK(shorts(builder.build()) == "sl 10000");
  }
  SECTION("launches that take long make more kernels short") {
    TimelineBuilder builder;
    builder.launch_call("cudaLaunchKernel", 0, 30'000).kernel(40'000, 65'000, "a");
    builder.launch_call("cudaLaunchKernel", 50'000, 80'000).kernel(90'000, 125'000, "b");
    CHECK(shorts(builder.build()) == "sl 30000");
  }
}

TEST_CASE("short kernels of one name are apart by operator and family", "[analysis]") {
  TimelineBuilder builder;
  const auto add = [&](std::int64_t t, const char* around) {
    if (around != nullptr) builder.range(around, t, t + 9);
    builder.range("aten::add_", t + 1, t + 8).of_kind(RangeKind::kOperator);
    builder.launch(t + 2).kernel(t + 100, t + 104, kAdd);
  };
  add(0, nullptr);
  add(10, "Optimizer.step#SGD.step");
  add(20, "Optimizer.step#SGD.step");
  builder.launch(30).kernel(130, 131, kAdd);
  const Timeline timeline = builder.build();
  const KernelFamilies families(timeline);
  std::string text;
  for (const ShortKernelTotal& row : short_kernel_totals(timeline, families, ShortKernels(timeline, families)))
    text += std::string(timeline.text(row.operator_name)) + " " + std::string(word_of(row.family)) + " " +
            std::to_string(row.count) + " " + std::to_string(row.gpu_sum_ns) + "; ";
  CHECK(text == "aten::add_ optimizer 2 8; aten::add_ elementwise 1 4;  elementwise 1 1; ");
}

TEST_CASE("times that a file claims at the ends of all numbers make no overflow", "[analysis]") {
  constexpr std::int64_t kEnd = INT64_MAX, kBegin = INT64_MIN + 1;
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", kBegin, kEnd).kernel(kBegin, kBegin, kAdd);
  builder.launch_call("cudaLaunchKernel", kBegin, kEnd).kernel(kEnd, kBegin, kAdd);
  builder.launch_call("cudaLaunchKernel", kEnd, kBegin).kernel(kBegin, kEnd, kMul);
  const Timeline timeline = builder.build();
  for (const KernelSequence& row : sequences_of(timeline)) CHECK(row.gap_ns >= 0);
}

TEST_CASE("sequences are disjoint, in order, and account for each short kernel once", "[analysis][property]") {
  constexpr const char* kNames[] = {kAdd, kMul, kGemm, "long", "ncclKernel_AllReduce"};
  for (const std::uint64_t seed : property_seeds("kernel sequences", repeats(80))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    TimelineBuilder builder;
    std::int64_t launch_ns = 0, begin_ns = 0;
    for (int i = 0; i < 80; ++i) {
      launch_ns += 1 + static_cast<std::int64_t>(below(random, 20));
      begin_ns = std::max(begin_ns, launch_ns) + static_cast<std::int64_t>(below(random, 30));
      if (below(random, 6) == 0)
        builder.range("r" + std::to_string(below(random, 3)), launch_ns,
                      launch_ns + static_cast<std::int64_t>(below(random, 200)));
      const char* const name = kNames[below(random, 5)];
      const bool is_long = std::string_view(name) == "long";
      const auto length_ns = static_cast<std::int64_t>(below(random, 40)) + (is_long ? 20'000 : 0);
      builder.on_stream(7 + static_cast<std::int64_t>(below(random, 2))).launch(launch_ns);
      builder.kernel(begin_ns, begin_ns + length_ns, name);
      begin_ns += length_ns;
    }
    const Timeline timeline = builder.build();
    const Projection projection = project(timeline, {});
    const KernelFamilies families(timeline);
    const ShortKernels kernels(timeline, families);
    const ActivityTable& table = timeline.activities;
    // The slow way: of each stream the neighbours, which belong together where nothing parts them.
    std::uint64_t expected_kernels = 0;
    std::int64_t expected_gap_ns = 0;
    for (StreamIndex stream{0}; stream < timeline.streams.size(); ++stream) {
      std::vector<ActivityIndex> row;
      for (ActivityIndex activity{0}; activity < table.size(); ++activity)
        if (table.stream[activity] == stream) row.push_back(activity);
      std::stable_sort(row.begin(), row.end(),
                       [&](ActivityIndex a, ActivityIndex b) { return table.begin_ns[a] < table.begin_ns[b]; });
      const auto joined = [&](std::size_t a, std::size_t b) {
        return b < row.size() && kernels.has(row[a]) && kernels.has(row[b]) &&
               projection.owner[row[a]] == projection.owner[row[b]];
      };
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (joined(i, i + 1) || (i > 0 && joined(i - 1, i))) ++expected_kernels;
        if (joined(i, i + 1))
          expected_gap_ns += std::max<std::int64_t>(table.begin_ns[row[i + 1]] - table.end_ns[row[i]], 0);
      }
    }
    std::uint64_t found_kernels = 0;
    std::int64_t found_gap_ns = 0;
    for (const KernelSequence& row : kernel_sequences(timeline, projection, families, kernels)) {
      CHECK(row.first.size() > 1);
      CHECK(row.fusion_ns <= row.kernel_ns + row.gap_ns);
      CHECK(row.fusible <= row.count * row.first.size());
      found_kernels += row.count * row.first.size();
      found_gap_ns += row.gap_ns;
    }
    CHECK(found_kernels == expected_kernels);
    CHECK(found_gap_ns == expected_gap_ns);
  }
}

TEST_CASE("short kernels of real traces are TraceLens's, or differ for a known reason", "[analysis][data]") {
  if (shared_file("data/tracelens").empty()) RANGEFINDER_SKIP("no figures of TraceLens (RANGEFINDER_SHARED)");
  int rows = 0, equal = 0;
  std::map<std::string, int> explained;
  for (const std::string trace : {"h100_Qwen_Qwen1.5-0.5B-Chat", "h100_gaunernst_bert-small-uncased",
                                  "mi300_gaunernst_bert-small-uncased", "torch_compile_triton"}) {
    const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + trace + ".json.gz"));
    REQUIRE(timeline);
    const ActivityTable& table = timeline->activities;
    const KernelFamilies families(*timeline);
    const ShortKernels kernels(*timeline, families);
    struct Total {
      std::int64_t ns = 0;
      std::uint64_t count = 0;
    };
    using Key = std::pair<std::string, std::string>;
    std::map<Key, Total> theirs;  // of all inputs together
    for (const auto& record :
         csv_records(read_file(shared_file("data/tracelens/" + trace + "/short_kernels_summary.csv")))) {
      Total& total = theirs[{record.at("Parent cpu_op"), record.at("Kernel name")}];
      total.ns += std::llround(std::atof(record.at("Short Kernel duration (µs) sum").c_str()) * 1000);
      total.count += std::strtoull(record.at("Short Kernel count").c_str(), nullptr, 10);
    }
    std::map<Key, Total> ours, below_limit;  // by the mean of their like; each by itself
    std::map<Key, std::uint64_t> all;
    for (ActivityIndex row{0}; row < table.size(); ++row) {
      const RangeIndex by = families.operator_of(row);
      if (table.kind[row] != ActivityKind::kKernel) continue;
      const Key key{by == kNone ? "" : std::string(timeline->text(timeline->ranges.name[by])),
                    std::string(timeline->text(table.name[row]))};
      ++all[key];
      const std::int64_t ns = table.end_ns[row] - table.begin_ns[row];
      if (ns < ShortKernels::kUsualNs) below_limit[key].ns += ns, ++below_limit[key].count;
    }
    for (const ShortKernelTotal& row : short_kernel_totals(*timeline, families, kernels)) {
      Total& total = ours[{std::string(timeline->text(row.operator_name)), std::string(timeline->text(row.kernel))}];
      total.ns += row.gpu_sum_ns;
      total.count += row.count;
    }
    std::map<Key, int> keys;
    for (const auto& [key, total] : theirs) keys[key] = 1;
    for (const auto& [key, total] : ours) keys[key] = 1;
    int of_trace = 0;
    for (const auto& [key, one] : keys) {
      const Total a = ours[key], b = theirs[key];
      ++rows;
      if (a.ns == b.ns && a.count == b.count) {
        ++equal;
        ++of_trace;
        continue;
      }
      CAPTURE(trace, key.first, key.second, a.ns, a.count, b.ns, b.count, kernels.limit_ns());
      std::string why;
      if (key.first.empty() && b.count == 0)
        why = "no operator: TraceLens drops them";
      else if (kernels.limit_ns() > ShortKernels::kUsualNs && a.count > b.count)
        why = "shorter than their launch";
      else if (b.count == below_limit[key].count && b.ns == below_limit[key].ns && b.count < all[key])
        why = "some of their like are on the other side of 10 us";
      CHECK_FALSE(why.empty());
      ++explained[why];
    }
    std::printf("%s: short_kernels_summary: %zu operators and kernels, %d equal, limit %lld ns\n", trace.c_str(),
                keys.size(), of_trace, static_cast<long long>(kernels.limit_ns()));
  }
  for (const auto& [why, count] : explained) std::printf("short kernels: %d explained: %s\n", count, why.c_str());
  std::printf("short kernels: %d rows, %d equal\n", rows, equal);
  CHECK(equal > 0);
}
