// SPDX-License-Identifier: MIT
#include "common/calibration.hpp"

#include "support/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

/// What a call throws.
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct CalibrationFile {
  std::string path = (std::filesystem::temp_directory_path() / ("calibration-" + std::to_string(::getpid()))).string();
  void write(const std::string& text) const { std::ofstream(path) << text; }
  ~CalibrationFile() { std::filesystem::remove(path); }
};

std::string layer(const std::string& fields) { return R"({"format": "float8_e4m3fn", "layers": [)" + fields + "]}"; }

}  // namespace

TEST_CASE("a calibration file is read as it was written", "[examples]") {
  const CalibrationFile file;
  examples::write_calibration(file.path, {{"linear.0", 3.1, 100, 3.1 / 448}, {"linear.1", 0.7, 99.9, 0.7 / 448}});
  const auto layers = examples::read_calibration(file.path);
  REQUIRE(layers.size() == 2);
  CHECK(layers[1].layer == "linear.1");
  CHECK(layers[1].amax == 0.7);
  CHECK(layers[1].percentile == 99.9);
  CHECK(examples::scale_of_layer(layers, "linear.0", file.path) == 3.1 / 448);
  CHECK(error_of([&] { examples::scale_of_layer(layers, "linear.2", file.path); }) ==
        "calibration " + file.path + ": has no layer \"linear.2\"; its layers: linear.0, linear.1");
  CHECK_FALSE(std::filesystem::exists(file.path + ".new"));
}

TEST_CASE("a calibration file that is missing or wrong says what is", "[examples]") {
  const CalibrationFile file;
  CHECK(error_of([&] { examples::read_calibration(file.path); }) ==
        "calibration " + file.path + ": cannot be read: No such file or directory; run the calibration pass first");
  CHECK(
      has(error_of([&] { examples::write_calibration(file.path + "/none/file", {}); }), "cannot be written: No such"));
  const auto says = [&](const std::string& text, const std::string& what) {
    file.write(text);
    const std::string error = error_of([&] { examples::read_calibration(file.path); });
    INFO(error);
    CHECK(has(error, file.path + ": "));
    CHECK(has(error, what));
  };
  says("", "is not JSON");
  says(R"({"layers": [)", "is not JSON");
  says("[]", "has no list \"layers\"");
  says(R"({"layers": {}})", "has no list \"layers\"");
  says(R"({"layers": []})", "is for \"\", and must be for \"float8_e4m3fn\"");
  says(R"({"format": "float8_e5m2", "layers": []})", "is for \"float8_e5m2\"");
  says(layer("3"), "entry 0 of \"layers\" has no name");
  says(layer(R"({"layer": "a", "percentile": 100, "scale": 1})"), "layer \"a\" has no number \"amax\"");
  says(layer(R"({"layer": "a", "amax": "448", "percentile": 100, "scale": 1})"), "layer \"a\" has no number \"amax\"");
  says(layer(R"({"layer": "a", "amax": -448, "percentile": 100, "scale": -1})"), "amax is -448, and must be above 0");
  says(layer(R"({"layer": "a", "amax": 448, "percentile": 101, "scale": 1})"), "percentile is 101");
  says(layer(R"({"layer": "a", "amax": 448, "percentile": 100, "scale": 1.1})"), "scale is 1.1, and amax / 448 is 1.0");
  const std::string good = R"({"layer": "a", "amax": 448, "percentile": 100, "scale": 1})";
  says(layer(good + "," + good), "has layer \"a\" twice");
  file.write(layer(good));
  CHECK(examples::read_calibration(file.path).size() == 1);
}
