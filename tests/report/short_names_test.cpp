// SPDX-License-Identifier: MIT
#include "report/short_names.hpp"

#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <random>

using namespace rangefinder;
using namespace rangefinder::report;
using namespace rangefinder::testing;

namespace {

std::string ascii(std::string_view name, std::size_t width) { return short_kernel_name(name, width, false); }

constexpr std::string_view kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> "
    ">(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)";

}  // namespace

TEST_CASE("a shortened text keeps head and tail, whole characters, and its width", "[report]") {
  CHECK(shortened("abcdef", 6, true) == "abcdef");
  CHECK(shortened("abcdefghij", 7, true) == "abcd…ij");
  CHECK(shortened("abcdefghij", 7, false) == "abc...j");
  CHECK(shortened("abcdefghij", 1, true) == ".");
  CHECK(shortened("abcdefghij", 0, true).empty());
  const std::string wide = "漢字漢字漢字漢字";
  for (std::size_t width = 2; width < 16; ++width) {
    CAPTURE(width);
    const std::string cut = shortened(wide, width, true);
    CHECK(base::display_width(cut) <= width);
    CHECK(base::display_width(cut) + 2 >= width);
    CHECK(base::printable(cut) == cut);
  }
}

TEST_CASE("a path keeps its inner ranges", "[report]") {
  CHECK(short_path("step/forward/layer.0", 20, true) == "step/forward/layer.0");
  CHECK(short_path("step/forward/layer.0", 19, true) == "…/forward/layer.0");
  CHECK(short_path("step/forward/layer.0", 16, false) == ".../layer.0");
  CHECK(short_path("step/forward/layer.0", 9, true) == "…/layer.0");
  CHECK(short_path("step/forward/layer.0", 8, true) == "layer.0");
  CHECK(short_path("step/forward/layer.0", 6, true) == "laye…0");
  CHECK(short_path("no path at all", 8, true) == "no pa…ll");
  CHECK(short_path("/", 0, true).empty());
}

TEST_CASE("a kernel's name loses what says least first", "[report]") {
  CHECK(ascii(kAdd, 500) == kAdd);
  CHECK(
      ascii(kAdd, 120) ==
      "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >");
  CHECK(ascii(kAdd, 100) ==
        "vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >");
  CHECK(ascii(kAdd, 80) == "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3>>");
  CHECK(ascii(kAdd, 64) == "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, ...>");
  CHECK(ascii(kAdd, 50) == "vectorized_elementwise_kernel<4, CUDAFunctor_a...>");
  CHECK(ascii(kAdd, 40) == "vectorized_elementwise_kernel<4, ...>");
  CHECK(ascii(kAdd, 37) == "vectorized_elementwise_kernel<4, ...>");
  CHECK(ascii(kAdd, 35) == "vectorized_elementwise_kernel<...>");
  CHECK(ascii(kAdd, 30) == "vectorized_elementwise_kernel");
  CHECK(ascii(kAdd, 24) == "vectorized_ele..._kernel");
}

TEST_CASE("a name without a template loses parameters, namespaces, then its middle", "[report]") {
  CHECK(ascii("ampere_sgemm_128x64_tn", 22) == "ampere_sgemm_128x64_tn");
  CHECK(ascii("ampere_sgemm_128x64_tn", 18) == "ampere_sge...64_tn");
  CHECK(short_kernel_name("ampere_sgemm_128x64_tn", 18, true) == "ampere_sgemm…64_tn");
  constexpr std::string_view reduce = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)";
  CHECK(ascii(reduce, 40) == "ncclKernel_AllReduce_RING_LL_Sum_float");
  CHECK(ascii("at::native::copy(int)", 12) == "copy");
  CHECK(ascii("triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1", 30) == "triton_red_fused__...w_rsqrt_1");
}

TEST_CASE("scopes without a name, functions as scopes and return types of templates are understood", "[report]") {
  CHECK(ascii("void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long, long)", 45) ==
        "GammaBetaBackwardCUDAKernel<float, float>");
  CHECK(ascii("void <unnamed>::softmax_warp_forward<float, float, 2>(float*, int)", 40) ==
        "softmax_warp_forward<float, float, 2>");
  CHECK(ascii("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(int, char)", 36) ==
        "gemvx::kernel<int, int, float>");
  CHECK(ascii("void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int, (cub::BlockLoadAlgorithm)3>, int*>(int*)",
              70) == "DeviceScanKernel<AgentScanPolicy<128, 15, int, (BlockLoadAlgorithm...>");
  CHECK(
      ascii("void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
            "{lambda()#2}::operator()() const::{lambda(double)#1}>(int)",
            100) ==
      "elementwise_kernel<128, 2, direct_copy_kernel_cuda(TensorIteratorBase&)::{lambda()#2}::operator(...>");
  CHECK(ascii("void thing::operator()<int>(int) const", 17) == "operator()<int>");
  CHECK(ascii("main::{lambda(int)#1}::operator()(int) const::{lambda()#2}(float)", 64) ==
        "main::{lambda(int)#1}::operator()(int) const::{lambda()#2}");
}

TEST_CASE("a template that says nothing keeps its scope, and a single word inside keeps both ends", "[report]") {
  constexpr std::string_view gemm =
      "void "
      "cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x256_16x4_nn_align4>(cutlass_80_tensorop_s1688gemm_128x256_"
      "16x4_nn_align4::Params)";
  CHECK(ascii(gemm, 70) == "cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x256_16x4_nn_align4>");
  CHECK(ascii(gemm, 50) == "cutlass::Kernel<cutlass_80_tensorop_..._nn_align4>");
  CHECK(ascii(gemm, 28) == "cutlass::Kernel<cutlas...n4>");
  // The scope is worth less than what is inside.
  CHECK(ascii(gemm, 24) == "Kernel<cutlass_8...ign4>");
  CHECK(ascii(gemm, 16) == "Kernel<...>");
}

TEST_CASE("what is no function's name is shortened in its middle", "[report]") {
  CHECK(ascii("Memcpy HtoD (Pageable -> Device)", 24) == "Memcpy HtoD (P...Device)");
  CHECK(ascii("a range of mine (with 2 parts)", 20) == "a range of m...arts)");
}

TEST_CASE("a name that was cut off still shows its template", "[report]") {
  CHECK(ascii("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunc", 40) ==
        "vectorized_elementwise_kernel<4, ...>");
}

TEST_CASE("any text fits the width and is cut at whole characters", "[report][property]") {
  std::mt19937_64 random(property_seed("kernel names"));
  constexpr std::string_view kPieces[] = {"void ", "at::", "<",        ">",      "(",     ")",  "{",
                                          "}",     ", ",   "::",       "kernel", "float", "->", "operator",
                                          " ",     "&",    " const::", "漢",     "x",     "4",  "[clone .kd]"};
  for (int round = 0; round < 5000; ++round) {
    std::string name;
    for (std::size_t piece = any_size(random, 5); piece > 0; --piece) name += kPieces[random() % std::size(kPieces)];
    const std::size_t width = random() % 60;
    for (const bool utf8 : {false, true}) {
      const std::string text = short_kernel_name(name, width, utf8);
      CHECK(base::display_width(text) <= width);
      CHECK(base::printable(text) == text);
      CHECK(base::display_width(short_path(name, width, utf8)) <= width);
    }
  }
}
