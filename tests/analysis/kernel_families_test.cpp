// SPDX-License-Identifier: MIT
#include "analysis/kernel_families.hpp"

#include "support/catch.hpp"
#include "support/csv_records.hpp"
#include "support/files.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

std::string family_word(std::string_view kernel) {
  const auto family = family_of_kernel(kernel);
  return family ? std::string(word_of(*family)) : "-";
}

std::string operator_word(std::string_view name) {
  const auto family = family_of_operator(name);
  return family ? std::string(word_of(*family)) : "-";
}

/// Of the only activity.
std::string family_in(TimelineBuilder& builder) {
  const Timeline timeline = builder.build();
  return std::string(word_of(KernelFamilies(timeline).of(ActivityIndex(0))));
}

}  // namespace

TEST_CASE("names of kernels tell their family, whoever wrote the kernel", "[analysis]") {
  const std::pair<const char*, const char*> kNames[] = {
      // cuBLAS, CUTLASS, Tensile, MAGMA, Triton
      {"ampere_sgemm_32x128_tn", "GEMM"},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas", "GEMM"},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", "GEMM"},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64>(cutlass_80::Params)", "GEMM"},
      {"void splitKreduce_kernel<float, float, float, float, true, true, false>(cublasSplitKParams<float>)", "GEMM"},
      {"void gemv2T_kernel_val<int, int, float, float>(cublasGemvParams<float>)", "GEMM"},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64", "GEMM"},
      {"void magma_sgemmEx_kernel<float, float, float, true>(int, int)", "GEMM"},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "GEMM"},
      {"triton_tem_fused_addmm_relu_3", "GEMM"},
      // attention, whose products are part of it
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>>(int)", "attention"},
      {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>)",
       "attention"},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7", "attention"},
      {"attn_fwd", "attention"},
      {"bwd_kernel_dk_dv", "attention"},
      {"triton_tem_fused_flex_attention_0", "attention"},
      {"_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_16FmhaFwdPipeline", "attention"},
      // convolution
      {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16", "convolution"},
      {"void implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5>(int)", "convolution"},
      {"volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "convolution"},
      {"void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_128x128>(int)", "convolution"},
      {"miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", "convolution"},
      {"igemm_wrw_gtcx2_nhwc_fp16_bx0_ex1_bt256x128x32", "convolution"},
      // normalization
      {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(cudnnTensorStruct)", "normalization"},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)",
       "normalization"},
      {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long)", "normalization"},
      {"MIOpenBatchNormFwdTrainSpatial", "normalization"},
      {"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePass", "normalization"},
      {"triton_red_fused_add_mean_mul_pow_rsqrt_0", "normalization"},
      {"triton_per_fused_native_layer_norm_2", "normalization"},
      // the rest
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)", "elementwise"},
      {"triton_poi_fused__unsafe_view_mul_silu_2", "elementwise"},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "elementwise"},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(int)",
       "reduction"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*)", "reduction"},
      {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int)", "reduction"},
      {"triton_red_fused_sum_1", "reduction"},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>(float*)", "copy"},
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>()",
       "copy"},
      {"void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<int>>(int)", "copy"},
      {"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)", "copy"},
      {"__amd_rocclr_fillBufferAligned", "copy"},
      {"void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(int)", "copy"},
      {"void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 2ul>(int)", "embedding"},
      {"void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float>(int)",
       "embedding"},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float>(int)", "optimizer"},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "communication"},
      {"void vllm::cross_device_reduce_1stage<float, 8>(RankData*)", "communication"},
      {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>>(int)", "sort"},
      {"void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(float)", "sort"},
      {"void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int>>(int)", "sort"},
      // nothing to go by
      {"my_kernel(float*)", "-"},
      {"triton__0d1d2d", "-"},
      {"", "-"},
  };
  for (const auto& [kernel, family] : kNames) {
    CAPTURE(kernel);
    CHECK(family_word(kernel) == family);
  }
}

TEST_CASE("names of operators tell a family, in place, backward or of another library", "[analysis]") {
  const std::pair<const char*, const char*> kNames[] = {
      {"aten::addmm", "GEMM"},
      {"AddmmBackward0", "GEMM"},
      {"autograd::engine::evaluate_function: MmBackward0", "GEMM"},
      {"aten::add_", "elementwise"},
      {"aten::_foreach_add_", "elementwise"},
      {"aten::threshold_backward", "elementwise"},
      {"aten::_softmax_backward_data", "reduction"},
      {"aten::max_pool2d_with_indices", "reduction"},
      {"aten::_flash_attention_forward", "attention"},
      {"vllm::unified_attention_with_output", "attention"},
      {"aten::convolution_backward", "convolution"},
      {"ConvolutionBackward0", "convolution"},
      {"aten::native_batch_norm", "normalization"},
      {"aiter::rms_norm", "normalization"},
      {"aten::embedding_dense_backward", "embedding"},
      {"Optimizer.step#Adam.step", "optimizer"},
      {"aten::_fused_adamw_", "optimizer"},
      {"c10d::allreduce_", "communication"},
      {"aten::copy_", "copy"},
      {"aten::_local_scalar_dense", "copy"},
      {"aten::topk", "sort"},
      {"triton_poi_fused_0", "elementwise"},
      {"aten::view", "-"},
      {"my::operator", "-"},
      {"", "-"},
  };
  for (const auto& [name, family] : kNames) {
    CAPTURE(name);
    CHECK(operator_word(name) == family);
  }
}

TEST_CASE("the operator around a launch decides what the kernel's name does not", "[analysis]") {
  constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)";
  TimelineBuilder builder;
  const auto op = [&](const char* name, std::int64_t begin_ns, std::int64_t end_ns) {
    builder.range(name, begin_ns, end_ns).of_kind(RangeKind::kOperator);
  };
  SECTION("of a kernel whose name says nothing, the innermost that says something") {
    op("aten::linear", 0, 100);
    op("aten::view", 1, 90);
    builder.launch(10).kernel(20, 30, "my_kernel");
    CHECK(family_in(builder) == "GEMM");
  }
  SECTION("without one it is other") {
    builder.range("aten::mm", 0, 100).launch(10).kernel(20, 30, "my_kernel");
    CHECK(family_in(builder) == "other");  // an annotation of that name is the program's
  }
  SECTION("a general kernel of a special operator is that operator's") {
    op("aten::native_batch_norm", 0, 100);
    builder.launch(10).kernel(20, 30, kAdd);
    CHECK(family_in(builder) == "normalization");
  }
  SECTION("not where another operator inside launched it") {
    op("aten::convolution", 0, 100);
    op("aten::add_", 1, 90);
    builder.launch(10).kernel(20, 30, kAdd);
    CHECK(family_in(builder) == "elementwise");
  }
  SECTION("but an optimizer's step owns what its operators launch") {
    builder.range("Optimizer.step#SGD.step", 0, 100);
    op("aten::_foreach_add_", 1, 90);
    builder.launch(10).kernel(20, 30, kAdd);
    CHECK(family_in(builder) == "optimizer");
  }
  SECTION("and what it does beside that stays what it is") {
    builder.range("Optimizer.step#SGD.step", 0, 100);
    op("aten::mm", 1, 90);
    builder.launch(10).kernel(20, 30, "ampere_sgemm_32x128_tn");
    CHECK(family_in(builder) == "GEMM");
  }
  SECTION("products of a convolution are the convolution's") {
    op("aten::cudnn_convolution", 0, 100);
    builder.launch(10).kernel(20, 30, "ampere_sgemm_32x128_tn");
    CHECK(family_in(builder) == "convolution");
  }
  SECTION("copies are copies whatever their name") {
    op("aten::native_batch_norm", 0, 100);
    builder.launch(10).memcpy(20, 30, 4096);
    CHECK(family_in(builder) == "copy");
  }
  SECTION("of a graph's work, the operator that was captured") {
    op("aten::mm", 0, 100);
    builder.launch(10);
    const LaunchIndex captured = builder.last_launch();
    builder.launch(200).kernel(220, 230, "my_kernel").of_graph(captured);
    CHECK(family_in(builder) == "GEMM");
  }
}

TEST_CASE("the innermost operator of an activity skips annotations", "[analysis]") {
  TimelineBuilder builder;
  builder.range("aten::mm", 0, 100).of_kind(RangeKind::kOperator);
  builder.range("mine", 1, 90).launch(10).kernel(20, 30);
  builder.launch(200).kernel(220, 230).without_launch(99).kernel(240, 250);
  const Timeline timeline = builder.build();
  const KernelFamilies families(timeline);
  CHECK(families.operator_of(ActivityIndex(0)) == RangeIndex(0));
  CHECK(families.operator_of(ActivityIndex(1)) == RangeIndex(kNone));
  CHECK(families.operator_of(ActivityIndex(2)) == RangeIndex(kNone));
}

namespace {

const std::vector<std::string> kTraceLensTraces = {"h100_Qwen_Qwen1.5-0.5B-Chat", "h100_gaunernst_bert-small-uncased",
                                                   "mi300_gaunernst_bert-small-uncased", "torch_compile_triton",
                                                   "vllm_decode_fullgraph_exec_mi300"};

using Record = std::map<std::string, std::string>;

std::vector<Record> tracelens_records(const std::string& trace, const std::string& table) {
  const std::string path = shared_file("data/tracelens/" + trace + "/" + table + ".csv");
  return path.empty() ? std::vector<Record>() : csv_records(read_file(path));
}

/// TraceLens writes microseconds.
std::int64_t ns_of(const std::string& microseconds) { return std::llround(std::atof(microseconds.c_str()) * 1000); }

std::string operator_name(const Timeline& timeline, const KernelFamilies& families, ActivityIndex activity) {
  const RangeIndex range = families.operator_of(activity);
  return range == kNone ? std::string() : std::string(timeline.text(timeline.ranges.name[range]));
}

struct KernelTotal {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  KernelFamily family = KernelFamily::kOther;
};

/// By operator, kernel and stream.
using KernelKey = std::tuple<std::string, std::string, std::int64_t>;
std::map<KernelKey, KernelTotal> kernel_totals(const Timeline& timeline, const KernelFamilies& families) {
  std::map<KernelKey, KernelTotal> totals;
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.kind[row] != ActivityKind::kKernel) continue;
    KernelTotal& total =
        totals[{operator_name(timeline, families, row), std::string(timeline.text(activities.name[row])),
                timeline.streams[activities.stream[row]].id}];
    ++total.count;
    total.total_ns += activities.end_ns[row] - activities.begin_ns[row];
    total.family = families.of(row);
  }
  return totals;
}

/// "equal", or why our family is not TraceLens's category of the operator; empty where no rule explains it.
std::string class_of(const std::string& category, const std::string& name, KernelFamily family) {
  static const std::map<std::string, KernelFamily> kSame = {{"GEMM", KernelFamily::kGemm},
                                                            {"elementwise", KernelFamily::kElementwise},
                                                            {"reduce", KernelFamily::kReduction},
                                                            {"NORM_fwd", KernelFamily::kNormalization}};
  const auto same = kSame.find(category);
  if (same != kSame.end() && same->second == family) return "equal";
  if (category == "elementwise" && name == "aten::copy_" && family == KernelFamily::kCopy) return "copies apart";
  if (category.empty() && name.empty() && family != KernelFamily::kOther) return "no operator, named by its kernel";
  if (category == "triton" && family != KernelFamily::kOther) return "Triton is a compiler, not a kind of work";
  const bool attends = name == "aten::_flash_attention_forward" && family == KernelFamily::kAttention;
  const bool moves = (name == "aten::cat" || name == "aten::_local_scalar_dense") && family == KernelFamily::kCopy;
  const bool looks_up = name == "aten::index_select" && family == KernelFamily::kEmbedding;
  const bool counts_up = name == "aten::arange" && family == KernelFamily::kElementwise;
  return category == "other" && (attends || moves || looks_up || counts_up) ? "other there" : "";
}

}  // namespace

TEST_CASE("kernels by operator are TraceLens's kernel_summary, row by row", "[analysis][data]") {
  if (shared_file("data/tracelens").empty()) RANGEFINDER_SKIP("no figures of TraceLens (RANGEFINDER_SHARED)");
  std::map<std::string, int> classes;
  int rows = 0;
  for (const std::string& trace : kTraceLensTraces) {
    const std::vector<Record> records = tracelens_records(trace, "kernel_summary");
    if (records.empty()) continue;  // vLLM: TraceLens has none
    const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + trace + ".json.gz"));
    REQUIRE(timeline);
    const std::map<KernelKey, KernelTotal> ours = kernel_totals(*timeline, KernelFamilies(*timeline));
    int equal = 0;
    std::map<std::string, int> of_trace;
    for (const Record& record : records) {
      const KernelKey key{record.at("Parent cpu_op"), record.at("Kernel name"),
                          std::atoll(record.at("Kernel stream").c_str())};
      CAPTURE(trace, std::get<0>(key), std::get<1>(key));
      const auto found = ours.find(key);
      REQUIRE(found != ours.end());
      const bool is_equal = std::to_string(found->second.count) == record.at("Kernel duration (µs)_count") &&
                            found->second.total_ns == ns_of(record.at("Kernel duration (µs)_sum"));
      CHECK(is_equal);
      equal += is_equal ? 1 : 0;
      CAPTURE(word_of(found->second.family), record.at("Parent op category"));
      const std::string why = class_of(record.at("Parent op category"), std::get<0>(key), found->second.family);
      CHECK_FALSE(why.empty());
      ++of_trace[why];
    }
    CHECK(ours.size() == records.size());
    std::printf("%s: kernel_summary: %zu rows, %d equal; families:", trace.c_str(), records.size(), equal);
    for (const auto& [why, count] : of_trace) {
      std::printf(" %d %s;", count, why.c_str());
      classes[why] += count;
    }
    std::printf("\n");
    rows += static_cast<int>(records.size());
  }
  CHECK(rows == 76);
}

TEST_CASE("device time by operator is TraceLens's ops_summary, and by family its categories", "[analysis][data]") {
  if (shared_file("data/tracelens").empty()) RANGEFINDER_SKIP("no figures of TraceLens (RANGEFINDER_SHARED)");
  struct Total {
    std::int64_t total_ns = 0;
    std::map<RangeIndex, int> calls;
    std::map<KernelFamily, int> families;
  };
  for (const std::string& trace : kTraceLensTraces) {
    if (trace.starts_with("vllm")) continue;  // has a test of its own
    const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + trace + ".json.gz"));
    REQUIRE(timeline);
    const KernelFamilies families(*timeline);
    const ActivityTable& activities = timeline->activities;
    std::map<std::string, Total> ours;
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      const RangeIndex by = families.operator_of(row);
      if (by == kNone) continue;  // TraceLens drops what has no operator
      Total& total = ours[operator_name(*timeline, families, row)];
      total.total_ns += activities.end_ns[row] - activities.begin_ns[row];
      ++total.calls[by];
      ++total.families[families.of(row)];
    }
    const std::vector<Record> records = tracelens_records(trace, "ops_summary");
    CHECK(records.size() == ours.size());
    std::int64_t greatest_ns = 0;
    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> by_category;
    int explained = 0, equal = 0;
    for (const Record& record : records) {
      CAPTURE(trace, record.at("name"));
      const auto found = ours.find(record.at("name"));
      REQUIRE(found != ours.end());
      const Total& total = found->second;
      CHECK(std::to_string(total.calls.size()) == record.at("Count"));
      const std::int64_t difference = std::abs(total.total_ns - ns_of(record.at("total_direct_kernel_time_sum")));
      greatest_ns = std::max(greatest_ns, difference);
      CHECK(difference <= 52);  // doubles of microseconds, rounded twice
      equal += difference <= 52 ? 1 : 0;
      std::string category = record.at("Categories");  // "['GEMM']"
      category = category.substr(2, category.size() - 4);
      const auto [calls, total_ns] = by_category[category];
      by_category[category] = {calls + total.calls.size(), total_ns + total.total_ns};
      for (const auto& [family, ops] : total.families) {
        CAPTURE(word_of(family), category, ops);
        explained += class_of(category, found->first, family) != "equal" ? 1 : 0;
        const bool is_helper = family == KernelFamily::kCopy;  // memsets beside products
        CHECK((is_helper || !class_of(category, found->first, family).empty()));
      }
    }
    const std::vector<Record> categories = tracelens_records(trace, "ops_summary_by_category");
    CHECK(categories.size() == by_category.size());
    for (const Record& record : categories) {
      CAPTURE(trace, record.at("op category"));
      const auto& [calls, total_ns] = by_category[record.at("op category")];
      CHECK(std::to_string(calls) == record.at("Count"));
      CHECK(std::abs(total_ns - ns_of(record.at("total_direct_kernel_time_ms")) * 1000) <= 1500);
    }
    std::printf("%s: ops_summary: %zu rows, %d equal within %lld ns; %zu categories; %d families explained\n",
                trace.c_str(), records.size(), equal, static_cast<long long>(greatest_ns), categories.size(),
                explained);
  }
}

TEST_CASE("of a replayed graph, names of kernels tell what TraceLens has from the trace of the capture",
          "[analysis][data]") {
  if (shared_file("data/tracelens").empty()) RANGEFINDER_SKIP("no figures of TraceLens (RANGEFINDER_SHARED)");
  const std::string trace = "vllm_decode_fullgraph_exec_mi300";
  const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + trace + ".json.gz"));
  REQUIRE(timeline);
  const KernelFamilies families(*timeline);
  const ActivityTable& activities = timeline->activities;
  std::map<std::string, std::int64_t> by_operator;  // "": none, as of all work of the graph
  std::map<KernelFamily, std::int64_t> of_graph;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const std::int64_t ns = activities.end_ns[row] - activities.begin_ns[row];
    const std::string name = operator_name(*timeline, families, row);
    by_operator[name] += ns;
    if (name.empty()) of_graph[families.of(row)] += ns;
  }
  std::map<std::string, std::int64_t> theirs;
  int equal = 0, explained = 0;
  std::int64_t of_capture_ns = 0;
  for (const Record& record : tracelens_records(trace, "ops_summary")) {
    const std::int64_t ns = ns_of(record.at("total_direct_kernel_time_sum"));
    theirs[record.at("name")] = ns;
    const auto found = by_operator.find(record.at("name"));
    if (found == by_operator.end()) {  // an operator of the capture: this trace has only the replay
      ++explained;
      of_capture_ns += ns;
      continue;
    }
    CAPTURE(record.at("name"));
    CHECK(std::abs(found->second - ns) <= 52);
    ++equal;
  }
  CHECK(equal == 4);
  CHECK(by_operator.size() == 5);
  CHECK(std::abs(of_capture_ns - by_operator.at("")) <= 52 * explained);
  // By family: kernels of the operators of the capture, found by their names.
  CHECK(std::abs(of_graph[KernelFamily::kAttention] - theirs.at("vllm::unified_attention_with_output")) <= 52);
  CHECK(std::abs(of_graph[KernelFamily::kNormalization] - theirs.at("aiter::rmsnorm2d_fwd_with_add_ck") -
                 theirs.at("aiter::rms_norm")) <= 52);
  CHECK(std::abs(of_graph[KernelFamily::kGemm] - theirs.at("aten::addmm") - theirs.at("vllm::moe_forward")) <= 52);
  std::printf("%s: ops_summary: %d rows, %d equal, %d of the capture: %lld ns there, %lld ns here\n", trace.c_str(),
              equal + explained, equal, explained, static_cast<long long>(of_capture_ns),
              static_cast<long long>(by_operator.at("")));
  for (const auto& [family, ns] : of_graph)
    std::printf("  %s %lld ns\n", std::string(word_of(family)).c_str(), static_cast<long long>(ns));
}
