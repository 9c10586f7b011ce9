// SPDX-License-Identifier: MIT
#include "source/counters/metric_catalogue.hpp"

// What CUPTI's host API knows for each chip; tests/source/counters/metric_set_test.cpp asks it about all of this.
namespace rangefinder::source::counters {
namespace {

constexpr double kPercent = 0.01;  // CUPTI's pct_of_peak, as a ratio

// clang-format off
constexpr Term kTime[] = {{"gpu__time_duration.sum"}};

constexpr Term kDramRead[] = {{"dram__bytes_read.sum"}};
constexpr Term kDramReadOp[] = {{"dram__bytes_op_read.sum"}};
constexpr Term kDramReadFbpa[] = {{"fbpa__dram_read_bytes.sum"}};
constexpr Term kDramWrite[] = {{"dram__bytes_write.sum"}};
constexpr Term kDramWriteOp[] = {{"dram__bytes_op_write.sum"}};
constexpr Term kDramWriteFbpa[] = {{"fbpa__dram_write_bytes.sum"}};
constexpr Term kL2[] = {{"lts__t_bytes.sum"}};
constexpr Term kL1[] = {{"l1tex__t_bytes.sum"}};

constexpr Term kSmActive[] = {{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", kPercent}};
constexpr Term kOccupancy[] = {{"sm__warps_active.avg.pct_of_peak_sustained_active", kPercent}};
constexpr Term kIssue[] = {{"sm__inst_issued.avg.pct_of_peak_sustained_elapsed", kPercent}};

constexpr Term kTensorActive[] = {{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", kPercent}};
constexpr Term kTensorRealtime[] = {{"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", kPercent}};
constexpr Term kTensorInstructions[] = {{"sm__inst_executed_pipe_tensor.sum"}};

// A fused multiply-add is two operations. CUPTI counts both halves of a packed fp16 instruction.
constexpr Term kFlop16[] = {{"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum"},
                            {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum"},
                            {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 2}};
constexpr Term kFlop32[] = {{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"},
                            {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"},
                            {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2}};
constexpr Term kFlop64[] = {{"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"},
                            {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"},
                            {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 2}};

constexpr Term kTensorBf16[] = {{"sm__ops_path_tensor_src_bf16_dst_fp32.sum"}};
constexpr Term kTensorTf32[] = {{"sm__ops_path_tensor_src_tf32_dst_fp32.sum"}};
// Sums into fp32, as LibTorch multiplies matrices; on Hopper the warp-group instructions, which its libraries use, since
// the two kinds together take two passes.
constexpr Term kTensorFp16[] = {{"sm__ops_path_tensor_src_fp16_dst_fp32.sum"}};
constexpr Term kTensorFp16Groups[] = {{"sm__ops_path_tensor_op_hgmma_src_fp16.sum"}};
constexpr Term kTensorFp8[] = {{"sm__ops_path_tensor_src_fp8.sum"}};
constexpr Term kTensorFp8Sum32[] = {{"sm__ops_path_tensor_src_fp8_dst_fp32.sum"}};
constexpr Term kTensorFp64[] = {{"sm__ops_path_tensor_src_fp64.sum"}};

constexpr Recipe kRecipes[] = {
    {"gpu_time_ns", true, false, kTime},
    {"dram_read_bytes", true, true, kDramRead},
    {"dram_read_bytes", true, true, kDramReadOp},
    {"dram_read_bytes", true, true, kDramReadFbpa},
    {"dram_write_bytes", true, true, kDramWrite},
    {"dram_write_bytes", true, true, kDramWriteOp},
    {"dram_write_bytes", true, true, kDramWriteFbpa},
    {"l2_bytes", true, true, kL2},
    {"l1_bytes", true, true, kL1},
    {"sm_active_ratio", true, true, kSmActive},
    {"occupancy_ratio", true, true, kOccupancy},
    {"issue_ratio", true, true, kIssue},
    {"tensor_active_ratio", false, true, kTensorRealtime},
    {"tensor_active_ratio", true, true, kTensorActive},
    {"tensor_instructions", true, true, kTensorInstructions},
    {"flop_fp16", true, false, kFlop16},
    {"flop_fp32", true, false, kFlop32},
    {"flop_fp64", true, false, kFlop64},
    {"flop_tensor_bf16", true, false, kTensorBf16},
    {"flop_tensor_fp16", true, false, kTensorFp16},
    {"flop_tensor_fp16", true, false, kTensorFp16Groups},
    {"flop_tensor_tf32", true, false, kTensorTf32},
    {"flop_tensor_fp8", true, false, kTensorFp8},
    {"flop_tensor_fp8", true, false, kTensorFp8Sum32},
    {"flop_tensor_fp64", true, false, kTensorFp64},
};

constexpr std::string_view kMemory[] = {"gpu_time_ns", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "l1_bytes"};
constexpr std::string_view kSm[] = {"gpu_time_ns", "sm_active_ratio", "occupancy_ratio", "issue_ratio"};
constexpr std::string_view kTensor[] = {"gpu_time_ns", "tensor_active_ratio", "sm_active_ratio"};
constexpr std::string_view kFlops[] = {"flop_fp16", "flop_fp32", "flop_fp64"};
constexpr std::string_view kRoofline[] = {"gpu_time_ns", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "flop_tensor_bf16"};
constexpr std::string_view kRooflineFp16[] = {"gpu_time_ns", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "flop_tensor_fp16"};
constexpr std::string_view kRooflineTf32[] = {"gpu_time_ns", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "flop_tensor_tf32"};
constexpr std::string_view kRooflineFp8[] = {"gpu_time_ns", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "flop_tensor_fp8"};
constexpr std::string_view kRooflineFp64[] = {"gpu_time_ns", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "flop_tensor_fp64"};
constexpr std::string_view kDevice[] = {"sm_active_ratio", "tensor_active_ratio", "dram_read_bytes", "dram_write_bytes", "l2_bytes"};

constexpr NamedSet kSets[] = {
    {"memory", "how many bytes pass through DRAM, L2 and L1", kMemory},
    {"sm", "how busy the multiprocessors are, and how full", kSm},
    {"tensor", "how busy the tensor pipes are", kTensor},
    {"flops", "how many operations the vector units do, by precision", kFlops},
    {"roofline", "DRAM bytes and tensor operations on bf16", kRoofline},
    {"roofline-fp16", "DRAM bytes and tensor operations on fp16", kRooflineFp16},
    {"roofline-tf32", "DRAM bytes and tensor operations on tf32", kRooflineTf32},
    {"roofline-fp8", "DRAM bytes and tensor operations on fp8", kRooflineFp8},
    {"roofline-fp64", "DRAM bytes and tensor operations on fp64", kRooflineFp64},
    {"device", "multiprocessors, tensor pipes and memory together", kDevice},
};
// clang-format on

}  // namespace

std::span<const Recipe> recipes() noexcept { return kRecipes; }
std::span<const NamedSet> named_sets() noexcept { return kSets; }

}  // namespace rangefinder::source::counters
