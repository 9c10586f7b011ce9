// SPDX-License-Identifier: MIT
//
// Metric sets, as NVIDIA's own library resolves them: it knows all chips, and needs no GPU for this.
#include "source/counters/metric_set.hpp"

#include "base/library.hpp"
#include "base/lists.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::source::counters;

namespace {

/// Null where the library is not installed. One that is there and cannot be used is a failure.
const ProfilerApi* real_library() {
  static const auto* const found = []() -> const ProfilerApi* {
    for (const char* folder : {"/lib64/", "/lib/"}) {
      const std::string path = std::string(REAL_CUPTI_ROOT) + folder + "libcupti.so.13";
      if (!std::filesystem::exists(path)) continue;
      Result<base::Library> library = base::Library::open(path);
      INFO(path << ": " << (library.ok() ? "" : library.error().message()));
      REQUIRE(library.ok());
      ProfilerApi api = bind_profiler(*library, nullptr);
      const Result<std::vector<std::string>> chips = known_chips(api);
      INFO((chips.ok() ? "" : chips.error().message()));
      REQUIRE((!api.simulated && check_host(api).ok() && chips.ok()));
      return new ProfilerApi(api);
    }
    return nullptr;
  }();
  return found;
}

#define REQUIRE_LIBRARY(api)                     \
  const ProfilerApi* const api = real_library(); \
  if (api == nullptr) RANGEFINDER_SKIP("no libcupti.so.13 in " REAL_CUPTI_ROOT)

// Data centre and desktop, from Ampere to Blackwell.
constexpr const char* kChips[] = {"GH100", "GA100", "GA102", "AD102", "GB100", "GB202"};

MetricSet resolved(const ProfilerApi& api, std::string_view chip, Collection collection, std::string_view selection) {
  Result<MetricSet> set = MetricSet::resolve(api, chip, collection, base::split(selection, '+'));
  INFO(chip << ", " << selection << ": " << (set.ok() ? "" : set.error().message()));
  REQUIRE(set.ok());
  return std::move(*set);
}

std::string error_of(const ProfilerApi& api, std::string_view chip, Collection collection, std::string_view selection) {
  const Result<MetricSet> set = MetricSet::resolve(api, chip, collection, base::split(selection, '+'));
  INFO(chip << ", " << selection);
  REQUIRE_FALSE(set.ok());
  return set.error().message();
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// By the library itself, and not by what resolved the set.
std::size_t passes_of(const ProfilerApi& api, const MetricSet& set) {
  std::vector<std::uint8_t> image(set.config_image().begin(), set.config_image().end());
  auto params = sized<CUpti_Profiler_Host_GetNumOfPasses_Params>(CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  REQUIRE(api.cuptiProfilerHostGetNumOfPasses(&params) == CUPTI_SUCCESS);
  return params.numOfPasses;
}

}  // namespace

TEST_CASE("the library knows the chips that sets are made for", "[counters]") {
  REQUIRE_LIBRARY(api);
  const Result<std::vector<std::string>> chips = known_chips(*api);
  REQUIRE(chips.ok());
  for (const char* chip : kChips) CHECK(has(*chips, chip));
}

TEST_CASE("every set takes one pass on every chip", "[counters]") {
  REQUIRE_LIBRARY(api);
  // Tensor operations on a format that the chip does not have, or counts in more passes than one.
  const std::set<std::pair<std::string, std::string>> lacking = {
      {"GA100", "flop_tensor_fp8"},
      {"GA102", "flop_tensor_fp8"},
      {"GB100", "flop_tensor_fp8"},
  };
  for (const char* chip : kChips) {
    for (const NamedSet& named : named_sets()) {
      INFO(chip << ", " << named.name);
      // The one set that a chip has all metrics of and still cannot count at once.
      if (std::string_view(chip) == "GB100" && named.name == "roofline-tf32") {
        CHECK(error_of(*api, chip, Collection::kRanges, named.name).find("leave out flop_tensor_tf32") !=
              std::string::npos);
        continue;
      }
      const MetricSet set = resolved(*api, chip, Collection::kRanges, named.name);
      CHECK(set.chip() == chip);
      CHECK(passes_of(*api, set) == 1);
      for (const std::string_view metric : named.metrics) {
        const bool lacks = lacking.count({chip, std::string(metric)}) != 0;
        INFO(metric);
        CHECK(has(set.metrics(), metric) != lacks);
        CHECK(has(set.missing(), metric) == lacks);
      }
    }
  }
}

TEST_CASE("what is sampled takes one pass on every chip", "[counters]") {
  REQUIRE_LIBRARY(api);
  for (const char* chip : kChips) {
    for (const char* name : {"memory", "sm", "tensor", "device"}) {
      INFO(chip << ", " << name);
      const MetricSet set = resolved(*api, chip, Collection::kSamples, name);
      CHECK(passes_of(*api, set) == 1);
      // A sample has its own length.
      CHECK_FALSE(has(set.metrics(), "gpu_time_ns"));
      CHECK(set.missing() == (std::string_view(name) == "device" ? std::vector<std::string>{}
                                                                 : std::vector<std::string>{"gpu_time_ns"}));
    }
    // The instructions' own operations cannot be sampled.
    CHECK(error_of(*api, chip, Collection::kSamples, "flops").find("none of flop_fp16, flop_fp32, flop_fp64") !=
          std::string::npos);
  }
}

TEST_CASE("chips have other names for the same thing", "[counters]") {
  REQUIRE_LIBRARY(api);
  const auto description = [&](const char* chip, Collection collection, const char* metric) {
    return resolved(*api, chip, collection, metric).description();
  };
  const Collection ranges = Collection::kRanges;
  CHECK(description("GH100", ranges, "dram_read_bytes") == "dram_read_bytes = dram__bytes_read.sum");
  CHECK(description("GB202", ranges, "dram_read_bytes") == "dram_read_bytes = dram__bytes_op_read.sum");
  CHECK(description("GA100", ranges, "flop_tensor_fp16") ==
        "flop_tensor_fp16 = sm__ops_path_tensor_src_fp16_dst_fp32.sum");
  CHECK(description("GH100", ranges, "flop_tensor_fp16") ==
        "flop_tensor_fp16 = sm__ops_path_tensor_op_hgmma_src_fp16.sum");
  CHECK(description("GH100", ranges, "flop_fp32") ==
        "flop_fp32 = smsp__sass_thread_inst_executed_op_fadd_pred_on.sum + "
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum + "
        "2 * smsp__sass_thread_inst_executed_op_ffma_pred_on.sum");
  // Sampling and counting have not the same ones.
  CHECK(description("GH100", Collection::kSamples, "tensor_active_ratio") ==
        "tensor_active_ratio = 0.01 * sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed");
  CHECK(description("GH100", ranges, "tensor_active_ratio") ==
        "tensor_active_ratio = 0.01 * sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed");
}

TEST_CASE("sets and metrics are combined, each metric once", "[counters]") {
  REQUIRE_LIBRARY(api);
  const MetricSet set = resolved(*api, "GH100", Collection::kRanges, "memory+tensor+lts__t_sectors.sum+l2_bytes");
  CHECK(set.metrics() == std::vector<std::string>{"gpu_time_ns", "dram_read_bytes", "dram_write_bytes", "l2_bytes",
                                                  "l1_bytes", "tensor_active_ratio", "sm_active_ratio",
                                                  "lts__t_sectors.sum"});
  CHECK(set.library_metrics().size() == set.metrics().size());
  CHECK(passes_of(*api, set) == 1);
}

TEST_CASE("what takes more than one pass is refused, with what to leave out", "[counters]") {
  REQUIRE_LIBRARY(api);
  for (const char* chip : kChips) {
    // Instructions' operations are counted in a pass of their own.
    const std::string message = error_of(*api, chip, Collection::kRanges, "memory+flops");
    INFO(message);
    CHECK(message.find("takes more than one pass on " + std::string(chip)) != std::string::npos);
    CHECK(message.find("leave out flop_fp16, flop_fp32, flop_fp64") != std::string::npos);
    // Without them it is taken.
    CHECK(resolved(*api, chip, Collection::kRanges, "memory").missing().empty());
  }
  CHECK(error_of(*api, "GH100", Collection::kRanges, "roofline+flop_tensor_tf32").find("leave out flop_tensor_tf32") !=
        std::string::npos);
  CHECK(error_of(*api, "GH100", Collection::kSamples, "tensor_instructions").find("leave out tensor_instructions") !=
        std::string::npos);
}

TEST_CASE("a metric asked for by name must be there", "[counters]") {
  REQUIRE_LIBRARY(api);
  CHECK(error_of(*api, "GA100", Collection::kRanges, "memory+flop_tensor_fp8") ==
        "flop_tensor_fp8: GA100 has no such counter for ranges");
  CHECK(error_of(*api, "GH100", Collection::kRanges, "lts__no_such_counter.sum") ==
        "lts__no_such_counter.sum: GH100 has no such counter for ranges");
  CHECK(error_of(*api, "GH100", Collection::kSamples, "flop_fp32") ==
        "flop_fp32: GH100 has no such counter for sampling");
}

TEST_CASE("a chip that the library does not know is named", "[counters]") {
  REQUIRE_LIBRARY(api);
  const std::string message = error_of(*api, "GX999", Collection::kRanges, "memory");
  INFO(message);
  CHECK(message.find("chip GX999") != std::string::npos);
  CHECK(message.find("cuptiProfilerHostInitialize") != std::string::npos);
}

TEST_CASE("a name that is none is told with the nearest", "[counters]") {
  CHECK(MetricSet::check({"memory"}).ok());
  CHECK(MetricSet::check({"memory", "sm_active_ratio", "lts__t_bytes.sum"}).ok());
  CHECK(MetricSet::check({"memroy"}).error().message() ==
        "no set of counters and no metric is called \"memroy\"; did you mean memory?");
  for (const char* bad : {"", "+", "memory+", "+memory", "memory++sm", "memory tensor", "xyzzy-and-more"}) {
    INFO(bad);
    REQUIRE_FALSE(MetricSet::check(base::split(bad, '+')).ok());
    CHECK(MetricSet::check(base::split(bad, '+')).error().code() == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("every metric of a set has a recipe, and every recipe a unit", "[counters]") {
  std::set<std::string_view> known;
  for (const Recipe& recipe : recipes()) {
    known.insert(recipe.metric);
    CHECK(!recipe.terms.empty());
    CHECK((recipe.for_ranges || recipe.for_samples));
    const bool has_unit = recipe.metric.ends_with("_bytes") || recipe.metric.ends_with("_ratio") ||
                          recipe.metric.ends_with("_ns") || recipe.metric.ends_with("_instructions") ||
                          recipe.metric.starts_with("flop_");
    INFO(recipe.metric);
    CHECK(has_unit);
  }
  for (const NamedSet& set : named_sets()) {
    INFO(set.name);
    CHECK(!set.metrics.empty());
    for (const std::string_view metric : set.metrics) CHECK(known.count(metric) == 1);
  }
}
