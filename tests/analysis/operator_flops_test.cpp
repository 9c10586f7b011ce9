// SPDX-License-Identifier: MIT
#include "analysis/operator_flops.hpp"

#include "support/catch.hpp"

#include <optional>
#include <string>

using rangefinder::analysis::has_operator_flops;
using rangefinder::analysis::operator_bytes;
using rangefinder::analysis::operator_flops;
using rangefinder::analysis::operator_type;
using rangefinder::analysis::torch_profiler_counts;

TEST_CASE("FLOPs of matrix products, convolutions and attention", "[analysis]") {
  CHECK(operator_flops("aten::mm", "[[2, 3], [3, 4]]", "") == 2 * 2 * 3 * 4);
  CHECK(operator_flops("aten::addmm", "[[4], [2, 3], [3, 4], [], []]", "") == 2 * 2 * 3 * 4);
  CHECK(operator_flops("aten::bmm", "[[5, 2, 3], [5, 3, 4]]", "") == 5 * 2 * 2 * 3 * 4);
  CHECK(operator_flops("aten::baddbmm", "[[1], [5, 2, 3], [5, 3, 4]]", "") == 5 * 2 * 2 * 3 * 4);
  CHECK(operator_flops("aten::mul", "[[7, 3], []]", "") == 21);
  CHECK(operator_flops("aten::conv2d", "[[4, 3, 8, 8], [8, 3, 3, 3], [8], [], [], [], []]",
                       R"(["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "1"])") == 62'208);
  CHECK(operator_flops("aten::conv2d", "[[1, 4, 9, 9], [8, 2, 3, 3], [], [], [], [], []]",
                       R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "2"])") == 2 * 5 * 5 * 3 * 3 * 4 * 8 / 2);
  // Query, key and value of 2 sequences, 8 heads, 16 queries, 32 keys of 64.
  CHECK(operator_flops("aten::scaled_dot_product_attention", "[[2, 8, 16, 64], [2, 8, 32, 64], [2, 8, 32, 64], []]",
                       "") == 2ull * (2 * 8 * 16 * 32 * 64) * 2);
  CHECK(operator_flops("aten::mm", "[[0, 3], [3, 4]]", "") == 0);
  CHECK(operator_flops("mm", "[[2, 3], [3, 4]]", "") == std::nullopt);
}

TEST_CASE("FLOPs of backward passes and 8-bit products are those of torch.utils.flop_counter", "[analysis]") {
  const auto values = [](const char* transposed, const char* groups, const char* mask) {
    return std::string(R"(["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", ")") + transposed + R"(", "[0, 0]", ")" +
           groups + R"(", ")" + mask + R"("])";
  };
  const std::string both = values("False", "1", "[True, True, False]");
  const std::string rest = ", [], [], [], [], [], [], [], []]";
  CHECK(operator_flops("aten::convolution_backward", "[[4, 8, 6, 6], [4, 3, 8, 8], [8, 3, 3, 3]" + rest, both) ==
        124'416);
  const std::string weights = values("False", "1", "[False, True, False]");
  CHECK(operator_flops("aten::convolution_backward", "[[4, 8, 4, 4], [4, 3, 8, 8], [8, 3, 3, 3]" + rest, weights) ==
        27'648);
  CHECK(operator_flops("aten::convolution_backward", "[[4, 5, 10, 10], [4, 3, 8, 8], [3, 5, 3, 3]" + rest,
                       values("True", "1", "[True, True, False]")) == 138'240);
  // In groups, as often as forward for each gradient.
  CHECK(operator_flops("aten::convolution_backward", "[[2, 8, 5, 5], [2, 4, 9, 9], [8, 2, 3, 3]" + rest,
                       values("False", "2", "[True, True, False]")) == 2 * (2 * 2 * 8 * 5 * 5 * 2 * 3 * 3));
  CHECK(operator_flops("aten::convolution_backward", "[[4, 8, 6, 6], [4, 3, 8, 8], [8, 3, 3, 3]" + rest, "") ==
        std::nullopt);
  const std::string forward = "[[2, 8, 16, 64], [2, 8, 32, 64], [2, 8, 32, 128], [], []]";
  const std::string backward = "[[2, 8, 16, 128], [2, 8, 16, 64], [2, 8, 32, 64], [2, 8, 32, 128], [], []]";
  for (const std::string kind :
       {"flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu"}) {
    INFO(kind);
    CHECK(operator_flops("aten::_scaled_dot_product_" + kind, forward, "") == 3'145'728);
    CHECK(operator_flops("aten::_scaled_dot_product_" + kind + "_backward", backward, "") == 7'340'032);
    CHECK(has_operator_flops("aten::_scaled_dot_product_" + kind + "_backward"));
  }
  CHECK(operator_flops("aten::_scaled_mm", "[[2, 16], [16, 32], [], []]", "") == 2 * 2 * 16 * 32);
  CHECK(has_operator_flops("aten::_scaled_mm"));
}

// Expected values are of torch.utils.flop_counter for tensors of these shapes.
TEST_CASE("attention operators of every backend have FLOPs", "[analysis]") {
  const std::string forward = "[[3, 5, 7, 16], [3, 5, 9, 16], [3, 5, 9, 32], [], [], [], [], [], [], []]";
  const std::string backward =
      "[[3, 5, 7, 32], [3, 5, 7, 16], [3, 5, 9, 16], [3, 5, 9, 32], [], [], [], [], [], [], [], [], [], []]";
  for (const std::string kind : {"_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
                                 "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu",
                                 "_scaled_dot_product_fused_attention_overrideable"}) {
    INFO(kind);
    CHECK(operator_flops("aten::" + kind, forward, "") == 90'720);
    CHECK(operator_flops("aten::" + kind + "_backward", backward, "") == 211'680);
    CHECK(has_operator_flops("aten::" + kind));
  }
  for (const std::string name : {"scaled_dot_product_attention", "_scaled_dot_product_attention_math",
                                 "_scaled_dot_product_attention_math_for_mps", "_cudnn_attention_forward"})
    CHECK(operator_flops("aten::" + name, forward, "") == 90'720);
  CHECK(operator_flops("aten::_cudnn_attention_backward", backward, "") == 211'680);
  // The sequence before the heads.
  const std::string heads_last = "[[3, 7, 5, 16], [3, 9, 5, 16], [3, 9, 5, 32], [], [], [], [], [], [], []]";
  const std::string heads_last_backward =
      "[[3, 7, 5, 32], [3, 7, 5, 16], [3, 9, 5, 16], [3, 9, 5, 32], [], [], [], [], [], []]";
  for (const std::string kind : {"_flash_attention_", "_efficient_attention_"}) {
    INFO(kind);
    CHECK(operator_flops("aten::" + kind + "forward", heads_last, "") == 90'720);
    CHECK(operator_flops("aten::" + kind + "backward", heads_last_backward, "") == 211'680);
  }
  // Of a trace of BERT; TraceLens says 0.040716288 GFLOP.
  CHECK(operator_flops("aten::_scaled_dot_product_flash_attention",
                       "[[1,8,141,64],[1,8,141,64],[1,8,141,64],[],[],[],[]]", "") == 40'716'288);
  CHECK(operator_flops("aten::_flash_attention_forward",
                       "[[1,141,8,64],[1,141,8,64],[1,141,8,64],[],[],[],[],[],[],[],[],[],[],[],[]]",
                       "") == 40'716'288);
  // Four queries share a key: as many products as with a key for each.
  CHECK(operator_flops("aten::_scaled_dot_product_flash_attention", "[[2, 8, 16, 64], [2, 2, 32, 64], [2, 2, 32, 128]]",
                       "") == 3'145'728);
}

TEST_CASE("FLOPs of attention over sequences of different lengths are not known", "[analysis]") {
  const auto flops = [](const char* name, const char* shapes) { return operator_flops(name, shapes, ""); };
  CHECK(flops("aten::_flash_attention_forward", "[[100, 5, 16], [120, 5, 16], [120, 5, 16], [9], [9], [], []]") ==
        std::nullopt);
  CHECK(flops("aten::_efficient_attention_forward",
              "[[1, 100, 5, 16], [1, 120, 5, 16], [1, 120, 5, 16], [], [9], [9], [], []]") == std::nullopt);
  CHECK(flops("aten::_efficient_attention_backward",
              "[[1, 100, 5, 16], [1, 100, 5, 16], [1, 120, 5, 16], [1, 120, 5, 16], [], [1, 100, 5, 16], [9], [9]]") ==
        std::nullopt);
  CHECK(flops("aten::_cudnn_attention_forward", "[[100, 5, 1, 16], [100, 5, 1, 16], [100, 5, 1, 16], [], [9], [9]]") ==
        std::nullopt);
  CHECK(flops("aten::_scaled_dot_product_flash_attention", "[[], [], [], []]") == std::nullopt);  // nested
  for (const char* shapes :
       {"[[2, 8, 16, 64], [2, 8, 32, 32], [2, 8, 32, 64]]", "[[2, 8, 16, 64], [2, 8, 32, 64]]",
        "[[2, 8, 16, 64], [2, 8, 32, 64], [2, 8, 31, 64]]", "[[2, 8, 16, 64], [2, 3, 32, 64], [2, 3, 32, 64]]",
        "[[2, 8, 16, 64], [4, 8, 32, 64], [4, 8, 32, 64]]", ""}) {
    INFO(shapes);
    CHECK(flops("aten::_scaled_dot_product_flash_attention", shapes) == std::nullopt);
  }
}

// Expected values are of torch.utils.flop_counter for the same calls of aten::convolution.
TEST_CASE("convolutions of any dimensions have FLOPs, by whichever operator", "[analysis]") {
  const std::string more = ", [], [], [], [], [], [], []]";
  const std::string one = R"(["", "", "", "[2]", "[1]", "[1]", "False", "[0]", "2"])";
  CHECK(operator_flops("aten::convolution", "[[4, 6, 20], [8, 3, 5]" + more, one) == 8'640);
  CHECK(operator_flops("aten::_convolution", "[[4, 6, 20], [8, 3, 5]" + more, one) == 8'640);
  CHECK(operator_flops("aten::conv1d", "[[4, 6, 20], [8, 3, 5]" + more, R"(["", "", "", "[2]", "[1]", "[1]", "2"])") ==
        8'640);
  CHECK(operator_flops("aten::convolution", "[[2, 3, 6, 7, 8], [4, 3, 2, 3, 3]" + more,
                       R"(["", "", "", "[1, 1, 1]", "[1, 0, 1]", "[1, 1, 1]", "False", "[0, 0, 0]", "1"])") == 241'920);
  const std::string transposed = R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1"])";
  CHECK(operator_flops("aten::convolution", "[[2, 6, 5, 5], [6, 4, 3, 3]" + more, transposed) == 21'600);
  CHECK(operator_flops("aten::cudnn_convolution", "[[4, 3, 8, 8], [8, 3, 3, 3]" + more,
                       R"(["", "", "[0, 0]", "[1, 1]", "[1, 1]", "1", "False", "False", "True"])") == 62'208);
  for (const char* name : {"aten::mkldnn_convolution", "aten::miopen_convolution"})
    CHECK(operator_flops(name, "[[4, 3, 8, 8], [8, 3, 3, 3]" + more,
                         R"(["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"])") == 62'208);
  // [2, 4, 10, 10] comes out.
  CHECK(operator_bytes("aten::convolution", "[[2, 6, 5, 5], [6, 4, 3, 3]" + more, R"(["float", "float"])",
                       transposed) == 4 * (2 * 6 * 5 * 5 + 6 * 4 * 3 * 3 + 2 * 4 * 10 * 10));
}

TEST_CASE("views, copies and what works element by element have no FLOPs, other operators' are not known",
          "[analysis]") {
  for (const char* name : {"aten::view",          "aten::t",        "aten::as_strided", "aten::_unsafe_view",
                           "aten::copy_",         "aten::empty",    "aten::cat",        "aten::relu",
                           "aten::gelu_backward", "aten::add_",     "aten::mul_",       "aten::_foreach_addcdiv_",
                           "aten::_fused_adamw_", "aten::uniform_", "aten::embedding",  "aten::slice_backward",
                           "aten::numpy_T",       "aten::zero_",    "detach",           "aten::view_as_real",
                           "aten::zeros_like",    "aten::alias",    "aten::_to_copy",   "aten::trunc",
                           "aten::true_divide"}) {
    INFO(name);
    CHECK(operator_flops(name, "", "") == 0);
  }
  for (const char* name : {"aten::view", "aten::empty", "aten::cat", "aten::_foreach_addcdiv_", "aten::alias"})
    CHECK(operator_bytes(name, "[[7, 3]]", R"(["float"])", "") == 0);
  for (const char* name :
       {"aten::linear", "aten::matmul", "aten::sum", "aten::_softmax", "aten::native_layer_norm", "aten::_foreach_norm",
        "aten::add", "aten::mm", "AddmmBackward0", "mine::relu", "c10d::allreduce_", "aten::", "", "_", "_backward"}) {
    INFO(name);
    CHECK(operator_flops(name, "", "") == std::nullopt);
  }
}

TEST_CASE("operators that torch.profiler counts", "[analysis]") {
  for (const char* name : {"aten::mm", "aten::add", "aten::conv2d", "aten::scaled_dot_product_attention"})
    CHECK(torch_profiler_counts(name));
  for (const char* name : {"aten::_scaled_mm", "aten::convolution", "aten::_flash_attention_forward", "mm"})
    CHECK_FALSE(torch_profiler_counts(name));
}

TEST_CASE("shapes that make no sense have no FLOPs", "[analysis]") {
  for (const char* shapes :
       {"", "[]", "[[2, 3]]", "[[2, 3], [4, 4]]", "[[2, 3], [3]]", "[[2, 3], [3, 4", "[[[2, 3]], [3, 4]]",
        "[[2, -3], [-3, 4]]", "[[4294967296, 4294967296], [4294967296, 4294967296]]",
        "[[99999999999999999999, 3], [3, 4]]", "nonsense", "]]]][[[["}) {
    INFO(shapes);
    CHECK(operator_flops("aten::mm", shapes, "") == std::nullopt);
  }
  const std::string shapes = "[[4, 3, 8, 8], [8, 3, 3, 3], [8], [], [], [], []]";
  for (const char* values :
       {"", "[]", R"(["", "", "", "[0, 0]", "[0, 0]", "[1, 1]", "1"])",
        R"(["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "0"])", R"(["", "", "", "[1, 1]", "[0, 0]", "[100, 100]", "1"])",
        R"(["", "", "", "[1, 1]", "[0, -9223372036854775808]", "[1, 1]", "1"])",
        R"(["", "", "", "[1, 1", "[0, 0]", "[1, 1, 1]", "1"])", R"(["\)"}) {
    INFO(values);
    CHECK(operator_flops("aten::conv2d", shapes, values) == std::nullopt);
  }
}

TEST_CASE("bytes of an operator are its inputs and its output, each once", "[analysis]") {
  const std::string two = R"(["float", "float"])";
  CHECK(operator_bytes("aten::mm", "[[2, 3], [3, 4]]", two, "") == 4 * (2 * 3 + 3 * 4 + 2 * 4));
  CHECK(operator_bytes("aten::bmm", "[[5, 2, 3], [5, 3, 4]]", R"(["c10::BFloat16", "c10::BFloat16"])", "") ==
        2 * 5 * (2 * 3 + 3 * 4 + 2 * 4));
  CHECK(operator_bytes("aten::addmm", "[[4], [2, 3], [3, 4], [], []]",
                       R"(["float", "float", "float", "Scalar", "Scalar"])", "") == 4 * (4 + 2 * 3 + 3 * 4 + 2 * 4));
  // Of the overload `out`, the output is among the arguments.
  const std::string three = R"(["float", "float", "float", "Scalar", "Scalar", "float"])";
  CHECK(operator_bytes("aten::mm", "[[2, 3], [3, 4], [2, 4]]", three, "") == 4 * (2 * 3 + 3 * 4 + 2 * 4));
  CHECK(operator_bytes("aten::bmm", "[[5, 2, 3], [5, 3, 4], [5, 2, 4]]", three, "") == 4 * 5 * (2 * 3 + 3 * 4 + 2 * 4));
  CHECK(operator_bytes("aten::addmm", "[[4], [2, 3], [3, 4], [], [], [2, 4]]", three, "") ==
        4 * (4 + 2 * 3 + 3 * 4 + 2 * 4));
  CHECK(operator_bytes("aten::mul", "[[7, 3], [7, 3], [7, 3]]", three, "") == 4 * 3 * 21);
  CHECK(operator_bytes("aten::add", "[[7, 3], [7, 3], [], [7, 3]]", R"(["float", "float", "Scalar", "float"])", "") ==
        4 * 3 * 21);
  CHECK(operator_bytes("aten::mul", "[[7, 3], []]", R"(["double", "Scalar"])", "") == 8 * 2 * 21);
  CHECK(operator_bytes("aten::add", "[[3], [7, 3], []]", R"(["float", "float", "Scalar"])", "") == 4 * (3 + 21 + 21));
  CHECK(operator_bytes("aten::conv2d", "[[4, 3, 8, 8], [8, 3, 3, 3], [8], [], [], [], []]",
                       R"(["float", "float", "float", "", "", "", "Scalar"])",
                       R"(["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "1"])") ==
        4 * (4 * 3 * 8 * 8 + 8 * 3 * 3 * 3 + 8 + 4 * 8 * 6 * 6));
  CHECK(operator_bytes("aten::scaled_dot_product_attention", "[[2, 8, 16, 64], [2, 8, 32, 64], [2, 8, 32, 128], []]",
                       R"(["c10::Half", "c10::Half", "c10::Half", ""])",
                       "") == 2 * (2 * 8 * 16 * 64 + 2 * 8 * 32 * 64 + 2 * 8 * 32 * 128 + 2 * 8 * 16 * 128));
  CHECK(operator_bytes("aten::_scaled_dot_product_flash_attention_backward",
                       "[[2, 8, 16, 64], [2, 8, 16, 64], [2, 8, 32, 64], [2, 8, 32, 64]]",
                       R"(["c10::Half", "c10::Half", "c10::Half", "c10::Half"])",
                       "") == 2 * 2 * 8 * 64 * (16 + 2 * (16 + 32 + 32)));
  CHECK(operator_bytes(
            "aten::convolution_backward", "[[4, 8, 6, 6], [4, 3, 8, 8], [8, 3, 3, 3], [], [], [], [], [], [], [], []]",
            R"(["float", "float", "float", "", "", "", "", "Scalar", "", "Scalar", ""])",
            R"(["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "[False, True, False]"])") ==
        4 * (4 * 8 * 6 * 6 + 4 * 3 * 8 * 8 + 2 * 8 * 3 * 3 * 3));
  CHECK(operator_bytes("aten::relu", "[[7, 3]]", R"(["float"])", "") == 4 * 2 * 21);
  CHECK(operator_bytes("aten::mm", "[[2, 3], [4, 4]]", two, "") == 0);
  CHECK(operator_bytes("aten::mm", "[[2, 3], [3, 4]]", R"(["unknown", "also unknown"])", "") == 0);
}

TEST_CASE("the type of an operator is that of its matrices", "[analysis]") {
  CHECK(operator_type("aten::mm", R"(["c10::Half", "c10::Half"])") == "c10::Half");
  CHECK(operator_type("aten::addmm", R"(["float", "c10::BFloat16", "c10::BFloat16"])") == "c10::BFloat16");
  CHECK(operator_type("aten::mm", "[]").empty());
  CHECK(has_operator_flops("aten::addmm"));
  CHECK_FALSE(has_operator_flops("aten::relu"));
  CHECK_FALSE(has_operator_flops("addmm"));
}
