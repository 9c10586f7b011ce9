// SPDX-License-Identifier: MIT
#include "analysis/bandwidth_operators.hpp"

#include "analysis/element_types.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

using namespace rangefinder::analysis;

namespace {

constexpr char kFloat[] = R"(["float"])";
constexpr char kTwoFloats[] = R"(["float", "float"])";

}  // namespace

TEST_CASE("an elementwise operator reads its inputs and writes as much as they span together", "[analysis]") {
  CHECK(bandwidth_bytes("aten::relu", "[[7, 3]]", kFloat, "") == 4 * 2 * 21);
  CHECK(bandwidth_bytes("aten::relu_", "[[7, 3]]", kFloat, "") == 4 * 2 * 21);
  CHECK(bandwidth_bytes("aten::add", "[[8, 4], [4], []]", R"(["float", "float", "Scalar"])", "") == 4 * (32 + 4 + 32));
  CHECK(bandwidth_bytes("aten::mul", "[[8, 1, 4], [5, 1]]", kTwoFloats, "") == 4 * (32 + 5 + 8 * 5 * 4));
  CHECK(bandwidth_bytes("aten::mul", "[[8, 4], [3]]", kTwoFloats, "") == 0);  // they do not fit
  CHECK(bandwidth_bytes("aten::addcmul_", "[[9], [9], [9], []]", R"(["float", "float", "float", "Scalar"])", "") ==
        4 * 4 * 9);
  CHECK(bandwidth_bytes("aten::add", "[[], [], []]", R"(["float", "float", "Scalar"])", "") == 4 * 3);
  CHECK(bandwidth_bytes("aten::add", "[[0, 5], [5], []]", R"(["float", "float", "Scalar"])", "") == 4 * 5);
}

TEST_CASE("what an operator gives has the type that PyTorch gives it", "[analysis]") {
  CHECK(bandwidth_bytes("aten::add", "[[6], [6], []]", R"(["c10::Half", "float", "Scalar"])", "") == 6 * (2 + 4 + 4));
  CHECK(bandwidth_bytes("aten::add", "[[6], [6]]", R"(["c10::Half", "c10::BFloat16"])", "") == 6 * (2 + 2 + 4));
  // A tensor without dimensions is a number: it does not make Half float.
  CHECK(bandwidth_bytes("aten::mul", "[[6], []]", R"(["c10::Half", "double"])", "") == 6 * (2 + 2) + 8);
  CHECK(bandwidth_bytes("aten::mul", "[[6], []]", R"(["long int", "double"])", "") == 6 * (8 + 4) + 8);
  CHECK(bandwidth_bytes("aten::add_", "[[6], [6]]", R"(["c10::Half", "float"])", "") == 6 * (2 + 4 + 2));
  CHECK(bandwidth_bytes("aten::eq", "[[6], []]", R"(["long int", "Scalar"])", "") == 6 * (8 + 1));
  CHECK(bandwidth_bytes("aten::div", "[[6], [6]]", R"(["int", "int"])", "") == 6 * (4 + 4 + 4));
  CHECK(bandwidth_bytes("aten::where", "[[6], [6], [6]]", R"(["bool", "float", "float"])", "") == 6 * (1 + 4 + 4 + 4));
  CHECK(bandwidth_bytes("aten::masked_fill", "[[6], [6], []]", R"(["c10::Half", "bool", "Scalar"])", "") ==
        6 * (2 + 1 + 2));
  CHECK(bandwidth_bytes("aten::native_dropout", "[[6], [], []]", R"(["float", "Scalar", "Scalar"])", "") ==
        6 * (4 + 4 + 1));
  CHECK(promoted("bool", "int") == "int");
  CHECK(promoted("double", "c10::complex<float>") == "c10::complex<float>");
  CHECK(promoted("", "float") == "float");
}

TEST_CASE("copies read one tensor and write another, fills only write", "[analysis]") {
  CHECK(bandwidth_bytes("aten::copy_", "[[5, 4], [4], []]", R"(["float", "c10::Half", "Scalar"])", "") ==
        4 * 20 + 2 * 4);
  CHECK(bandwidth_bytes("aten::fill_", "[[5, 4], []]", R"(["float", "Scalar"])", "") == 4 * 20);
  CHECK(bandwidth_bytes("aten::zero_", "[[5, 4]]", R"(["c10::Half"])", "") == 2 * 20);
}

TEST_CASE("normalization moves its input, output, parameters and statistics", "[analysis]") {
  const char* const types = R"(["c10::BFloat16", "ScalarList", "c10::BFloat16", "c10::BFloat16", "Scalar"])";
  const std::uint64_t layer_norm = 2 * (2 * 141 * 512 + 2 * 512) + 4 * 2 * 141;
  CHECK(bandwidth_bytes("aten::native_layer_norm", "[[1, 141, 512], [], [512], [512], []]", types,
                        R"(["", "[512]", "", "", "1e-12"])") == layer_norm);
  // Without values the weights tell what is normalized together; without these it is not known.
  CHECK(bandwidth_bytes("aten::layer_norm", "[[1, 141, 512], [], [512], [512], []]", types, "") == layer_norm);
  CHECK(bandwidth_bytes("aten::layer_norm", "[[1, 141, 512], [], [], [], []]",
                        R"(["float", "ScalarList", "", "", "Scalar"])", "") == 0);
  CHECK(bandwidth_bytes("aten::native_layer_norm_backward", "[[6, 8], [6, 8], [], [6, 1], [6, 1], [8], [8], []]",
                        R"(["float", "float", "ScalarList", "float", "float", "float", "float", ""])",
                        R"(["", "", "[8]", "", "", "", "", "[True, True, False]"])") ==
        4 * (2 * 48 + 2 * 6 + 8 + 48 + 8));
  const char* const batch_types = R"(["float", "float", "float", "float", "float", "Scalar"])";
  const char* const batch = "[[4, 3, 5, 5], [3], [3], [3], [3], []]";
  CHECK(bandwidth_bytes("aten::cudnn_batch_norm", batch, batch_types, R"(["", "", "", "", "", "False"])") ==
        4 * (2 * 300 + 4 * 3));
  CHECK(bandwidth_bytes("aten::cudnn_batch_norm", batch, batch_types, R"(["", "", "", "", "", "True"])") ==
        4 * (2 * 300 + 4 * 3 + 2 * 3 + 2 * 3));
  CHECK(bandwidth_bytes("aten::native_group_norm", "[[4, 6, 5], [6], [6], [], [], [], []]",
                        R"(["float", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar"])",
                        R"(["", "", "", "4", "6", "5", "2"])") == 4 * (2 * 120 + 2 * 6 + 2 * 4 * 2));
  CHECK(bandwidth_bytes("aten::_softmax", "[[6, 8], [], []]", R"(["c10::Half", "Scalar", "Scalar"])",
                        R"(["", "-1", "True"])") == 48 * (2 + 4));
}

TEST_CASE("a reduction writes what is left of its input", "[analysis]") {
  const char* const types = R"(["float", "ScalarList", "Scalar", ""])";
  CHECK(bandwidth_bytes("aten::mean", "[[16, 559, 1024], [], [], []]", types, R"(["", "[-1]", "True", ""])") ==
        4 * (16 * 559 * 1024 + 16 * 559));
  CHECK(bandwidth_bytes("aten::sum", "[[6, 8], [], [], []]", types, R"(["", "[0, 1]", "False", ""])") == 4 * (48 + 1));
  CHECK(bandwidth_bytes("aten::sum", "[[6, 8], [], [], []]", types, R"(["", "[]", "False", ""])") == 4 * (48 + 1));
  CHECK(bandwidth_bytes("aten::sum", "[[6, 8], []]", R"(["int", ""])", R"(["", ""])") == 4 * 48 + 8);
  CHECK(bandwidth_bytes("aten::sum", "[[6, 8], [], [], []]", types, "") == 0);  // over which dimensions?
  CHECK(bandwidth_bytes("aten::sum", "[[6, 8], [], [], []]", types, R"(["", "[2]", "False", ""])") == 0);
  CHECK(bandwidth_bytes("aten::max", "[[6, 8], [], []]", R"(["float", "Scalar", "Scalar"])", R"(["", "1", "False"])") ==
        4 * 48 + 6 * (4 + 8));
  CHECK(bandwidth_bytes("aten::max", "[[6, 8], [8]]", kTwoFloats, "") == 4 * (48 + 8 + 48));
  CHECK(bandwidth_bytes("aten::argmax", "[[6, 8], [], []]", R"(["float", "", "Scalar"])", R"(["", "", "False"])") ==
        4 * 48 + 8);
  CHECK(bandwidth_bytes("aten::all", "[[6, 8]]", R"(["bool"])", "") == 48 + 1);
  CHECK(bandwidth_bytes("aten::linalg_vector_norm", "[[6, 8], [], [], [], []]",
                        R"(["float", "Scalar", "", "Scalar", ""])",
                        R"(["", "2", "[1]", "False", ""])") == 4 * (48 + 6));
}

TEST_CASE("a gather moves the rows that it reads, not its table", "[analysis]") {
  const char* const types = R"(["c10::Half", "long int", "Scalar"])";
  CHECK(bandwidth_bytes("aten::embedding", "[[50000, 64], [2, 10], []]", types, "") == 8 * 20 + 2 * 2 * 20 * 64);
  CHECK(bandwidth_bytes("aten::embedding_dense_backward", "[[2, 10, 64], [2, 10], []]", types,
                        R"(["", "", "50000", "-1", "False"])") == 2 * 1280 + 8 * 20 + 2 * 50000 * 64);
  CHECK(bandwidth_bytes("aten::index_select", "[[50000, 64], [], [20]]", R"(["float", "Scalar", "long int"])",
                        R"(["", "0", ""])") == 8 * 20 + 4 * 2 * 20 * 64);
  CHECK(bandwidth_bytes("aten::gather", "[[9, 64], [], [9, 2], []]", R"(["float", "Scalar", "long int", "Scalar"])",
                        "") == 8 * 18 + 4 * 2 * 18);
  // Five bags of 20 rows; the last offset is their end.
  CHECK(bandwidth_bytes("aten::_embedding_bag", "[[900, 8], [20], [6], [], [], [], [], []]",
                        R"(["float", "long int", "long int", "Scalar", "Scalar", "Scalar", "", "Scalar"])",
                        R"(["", "", "", "False", "0", "False", "", "True"])") == 8 * 26 + 4 * 8 * (20 + 5));
}

TEST_CASE("operators whose bytes are not in the data have none", "[analysis]") {
  for (const char* name : {"aten::cat", "aten::_foreach_add_", "aten::_fused_adamw_", "aten::linear", "aten::view",
                           "relu", "mine::relu", "aten::", "", "_", "aten::_"}) {
    INFO(name);
    CHECK_FALSE(is_bandwidth_operator(name));
    CHECK(bandwidth_bytes(name, "[[7, 3]]", kFloat, "") == 0);
  }
  CHECK(bandwidth_bytes("aten::relu", "", "", "") == 0);
  CHECK(bandwidth_bytes("aten::relu", "[[7, 3]]", R"(["mystery"])", "") == 0);
  CHECK(bandwidth_bytes("aten::relu", "[[-7, 3]]", kFloat, "") == 0);
  CHECK(bandwidth_bytes("aten::relu", "[[4294967296, 4294967296]]", kFloat, "") == 0);
}

TEST_CASE("families of operators", "[analysis]") {
  CHECK(operator_family("aten::addmm") == "GEMM");
  CHECK(operator_family("aten::_scaled_dot_product_flash_attention") == "attention");
  CHECK(operator_family("aten::cudnn_convolution") == "convolution");
  CHECK(operator_family("aten::convolution_backward") == "convolution");
  CHECK(operator_family("aten::add_") == "elementwise");
  CHECK(operator_family("aten::copy_") == "elementwise");
  CHECK(operator_family("aten::_softmax") == "normalization");
  CHECK(operator_family("aten::native_layer_norm_backward") == "normalization");
  CHECK(operator_family("aten::sum") == "reduction");
  CHECK(operator_family("aten::embedding") == "embedding");
  CHECK(operator_family("aten::view") == "other");
  CHECK(operator_family("") == "other");
}

TEST_CASE("any text has some bytes or none", "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("bytes of any text"));
  const char* const names[] = {"aten::add",
                               "aten::copy_",
                               "aten::layer_norm",
                               "aten::batch_norm",
                               "aten::sum",
                               "aten::embedding",
                               "aten::max",
                               "aten::_embedding_bag",
                               "aten::gather",
                               "aten::group_norm",
                               "aten::index_select",
                               "aten::native_group_norm",
                               "aten::_softmax",
                               "aten::norm",
                               "aten::native_layer_norm_backward",
                               "aten::embedding_dense_backward"};
  const std::string_view pieces[] = {"[", "]",  ",",        "1",        "-1",        "9223372036854775807",
                                     "0", "\"", "float",    "\"bool\"", "\"float\"", "\"[1]\"",
                                     " ", "\\", "\"True\"", "[4, 3]"};
  for (int round = 0; round < rangefinder::testing::repeats(20'000); ++round) {
    const auto text = [&] {
      std::string out = "[";
      for (std::uint64_t i = rangefinder::testing::below(random, 12); i > 0; --i)
        out += pieces[rangefinder::testing::below(random, std::size(pieces))];
      return out + "]";
    };
    const char* const name = names[rangefinder::testing::below(random, std::size(names))];
    const std::string shapes = text(), types = text(), values = text();
    const std::uint64_t bytes = bandwidth_bytes(name, shapes, types, values);
    INFO(name << " " << shapes << " " << types << " " << values);
    // Nothing is read or written without a type that is known.
    if (types.find("\"float\"") == std::string::npos && types.find("\"bool\"") == std::string::npos) CHECK(bytes == 0);
  }
}
