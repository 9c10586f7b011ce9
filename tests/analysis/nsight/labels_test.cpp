// SPDX-License-Identifier: MIT
#include "analysis/nsight/labels.hpp"

#include "importer/nsight/nsight_importer.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis::nsight;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("the base of a kernel's name is the function alone", "[analysis]") {
  CHECK(base_name("gemm") == "gemm");
  CHECK(base_name("gemm(float*)") == "gemm");
  CHECK(base_name("void gemm<float>(float *)") == "gemm");
  CHECK(base_name("void at::native::vectorized_elementwise_kernel<(int)4, at::native::Add<float>>(int, T2)") ==
        "vectorized_elementwise_kernel");
  CHECK(base_name("at::native::(anonymous namespace)::CatArrayBatchedCopy(int)") == "CatArrayBatchedCopy");
  CHECK(base_name("void at::native::<unnamed>::copy<(int)1>(float *)") == "copy");
  CHECK(base_name("void cutlass::Kernel<cutlass::gemm<int>>::run(int)") == "run");
  CHECK(base_name("sm80_xmma_gemm_f32_tn_n") == "sm80_xmma_gemm_f32_tn_n");
  CHECK(base_name("") == "");
  CHECK(base_name("<<<") == "<<<");
  CHECK(base_name("(((") == "(((");
}

TEST_CASE("a range's label has its domain in front", "[analysis]") {
  const Timeline timeline = TimelineBuilder().range("a", 0, 1).range("a", 2, 3).in_domain("lib").build();
  Labels labels(timeline);
  CHECK(labels.text(labels.range(RangeIndex{0})) == "a");
  CHECK(labels.text(labels.range(RangeIndex{1})) == "lib:a");
}

TEST_CASE("names of an announced default domain have a colon in front", "[analysis]") {
  Timeline timeline = TimelineBuilder().range("a", 0, 1).build();
  timeline.metadata.emplace_back("nsight_default_domain_announced", "true");
  Labels labels(timeline);
  CHECK(labels.text(labels.range(RangeIndex{0})) == ":a");
}

TEST_CASE("only versions of four digits are cut from calls", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .call("cudaLaunchKernel_v7000", 0, 1)
                                .call("cudaGraphLaunch_v10000", 0, 1)
                                .call("cuMemAlloc_v2", 0, 1)
                                .call("cudaX_v70a0", 0, 1)
                                .call("_v7000", 0, 1)
                                .build();
  Labels labels(timeline);
  CHECK(labels.text(labels.call(CallIndex{0})) == "cudaLaunchKernel");
  CHECK(labels.text(labels.call(CallIndex{1})) == "cudaGraphLaunch_v10000");
  CHECK(labels.text(labels.call(CallIndex{2})) == "cuMemAlloc_v2");
  CHECK(labels.text(labels.call(CallIndex{3})) == "cudaX_v70a0");
  CHECK(labels.text(labels.call(CallIndex{4})) == "_v7000");
}

TEST_CASE("equal texts have equal labels whatever they name", "[analysis]") {
  const Timeline timeline = TimelineBuilder()
                                .range("lib:a", 0, 1)
                                .range("a", 2, 3)
                                .in_domain("lib")
                                .launch_call("lib:a", 0, 1)
                                .kernel(4, 5, "lib:a")
                                .memcpy(5, 6, 7, 8)
                                .memset(7, 8, 9)
                                .build();
  Labels labels(timeline);
  CHECK(labels.range(RangeIndex{0}) == labels.range(RangeIndex{1}));
  CHECK(labels.kernel(ActivityIndex{0}, KernelName::kFull) == labels.call(CallIndex{0}));
  CHECK(labels.text(labels.memory_operation(ActivityIndex{1})) == "[CUDA memcpy Device-to-Device]");
  CHECK(labels.text(labels.memory_operation(ActivityIndex{2})) == "[CUDA memset]");
  CHECK(labels.text(labels.inside(RangeIndex{1}, labels.kernel(ActivityIndex{0}, KernelName::kFull))) == "a/lib:a");
}

TEST_CASE("ranks of labels are in the order of their texts", "[analysis]") {
  // One is the beginning of another, some differ behind more bytes than fit into a number, one holds high bytes.
  const std::vector<std::string> texts{"range 10",       "range 1", "range 123456789a", "range 123456789b",
                                       "range \xC3\xA9", "range ",  "range 2",          "range 123456789"};
  TimelineBuilder builder;
  for (const std::string& text : texts) builder.range(text, 0, 1);
  const Timeline timeline = builder.range("b", 0, 1).in_domain("range 1").build();  // no name of the timeline
  Labels labels(timeline);
  std::vector<Label> all;
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) all.push_back(labels.range(range));
  all.push_back(all.front());
  REQUIRE(std::any_of(all.begin(), all.end(), [&](Label label) { return !labels.is_name(label); }));
  const std::vector<std::uint32_t> ranks = labels.ranks(all);
  for (const Label a : all)
    for (const Label b : all) CHECK((ranks[a] < ranks[b]) == (labels.text(a) < labels.text(b)));
  CHECK(labels.ranks({}).size() == labels.size());
}

TEST_CASE("base names agree with those that Nsight wrote beside the full ones", "[analysis][data]") {
  const std::string path = rangefinder::testing::shared_file("data/nsys/h100_2gpu_1s/h100_2gpu_1s.sqlite");
  if (path.empty()) RANGEFINDER_SKIP("data/nsys is not here");
  const auto timeline = importer::nsight::import_nsight(path, {});
  REQUIRE(timeline);
  REQUIRE(timeline->kernel_details.size() > 40);
  for (const KernelDetail& detail : timeline->kernel_details)
    CHECK(base_name(timeline->text(detail.demangled)) == timeline->text(detail.base));
}
