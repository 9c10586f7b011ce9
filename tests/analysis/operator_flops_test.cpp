// SPDX-License-Identifier: MIT
#include "analysis/operator_flops.hpp"

#include "support/catch.hpp"

#include <string>

using rangefinder::analysis::has_operator_flops;
using rangefinder::analysis::key_average_flops;
using rangefinder::analysis::operator_bytes;
using rangefinder::analysis::operator_flops;
using rangefinder::analysis::operator_type;

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
  CHECK(operator_flops("aten::relu", "[[7, 3]]", "") == 0);
  CHECK(operator_flops("mm", "[[2, 3], [3, 4]]", "") == 0);
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
  CHECK(operator_flops("aten::convolution_backward", "[[4, 8, 6, 6], [4, 3, 8, 8], [8, 3, 3, 3]" + rest, "") == 0);
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
  CHECK(key_average_flops("aten::_scaled_mm", "[[2, 16], [16, 32], [], []]", "") == 0);
  CHECK(key_average_flops("aten::mm", "[[2, 3], [3, 4]]", "") == 48);
}

TEST_CASE("shapes that make no sense have no FLOPs", "[analysis]") {
  for (const char* shapes :
       {"", "[]", "[[2, 3]]", "[[2, 3], [4, 4]]", "[[2, 3], [3]]", "[[2, 3], [3, 4", "[[[2, 3]], [3, 4]]",
        "[[2, -3], [-3, 4]]", "[[4294967296, 4294967296], [4294967296, 4294967296]]",
        "[[99999999999999999999, 3], [3, 4]]", "nonsense", "]]]][[[["}) {
    INFO(shapes);
    CHECK(operator_flops("aten::mm", shapes, "") == 0);
  }
  const std::string shapes = "[[4, 3, 8, 8], [8, 3, 3, 3], [8], [], [], [], []]";
  for (const char* values :
       {"", "[]", R"(["", "", "", "[0, 0]", "[0, 0]", "[1, 1]", "1"])",
        R"(["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "0"])", R"(["", "", "", "[1, 1]", "[0, 0]", "[100, 100]", "1"])",
        R"(["", "", "", "[1, 1]", "[0, -9223372036854775808]", "[1, 1]", "1"])",
        R"(["", "", "", "[1, 1", "[0, 0]", "[1, 1, 1]", "1"])", R"(["\)"}) {
    INFO(values);
    CHECK(operator_flops("aten::conv2d", shapes, values) == 0);
  }
}

TEST_CASE("bytes of an operator are its inputs and its output, each once", "[analysis]") {
  const std::string two = R"(["float", "float"])";
  CHECK(operator_bytes("aten::mm", "[[2, 3], [3, 4]]", two, "") == 4 * (2 * 3 + 3 * 4 + 2 * 4));
  CHECK(operator_bytes("aten::bmm", "[[5, 2, 3], [5, 3, 4]]", R"(["c10::BFloat16", "c10::BFloat16"])", "") ==
        2 * 5 * (2 * 3 + 3 * 4 + 2 * 4));
  CHECK(operator_bytes("aten::addmm", "[[4], [2, 3], [3, 4], [], []]",
                       R"(["float", "float", "float", "Scalar", "Scalar"])", "") == 4 * (4 + 2 * 3 + 3 * 4 + 2 * 4));
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
  CHECK(operator_bytes("aten::relu", "[[7, 3]]", R"(["float"])", "") == 0);
  CHECK(operator_bytes("aten::mm", "[[2, 3], [4, 4]]", two, "") == 0);
  CHECK(operator_bytes("aten::mm", "[[2, 3], [3, 4]]", R"(["nobody knows", "nor this"])", "") == 0);
}

TEST_CASE("the type of an operator is that of its matrices", "[analysis]") {
  CHECK(operator_type("aten::mm", R"(["c10::Half", "c10::Half"])") == "c10::Half");
  CHECK(operator_type("aten::addmm", R"(["float", "c10::BFloat16", "c10::BFloat16"])") == "c10::BFloat16");
  CHECK(operator_type("aten::mm", "[]").empty());
  CHECK(has_operator_flops("aten::addmm"));
  CHECK_FALSE(has_operator_flops("aten::relu"));
  CHECK_FALSE(has_operator_flops("addmm"));
}
