// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace examples {

/// What a calibration pass found for the input of a layer.
struct LayerCalibration {
  std::string layer;
  double amax = 0;          ///< the magnitude that becomes the format's largest number
  double percentile = 100;  ///< of magnitudes that `amax` is; 100: the largest
  double scale = 0;         ///< float8 e4m3: amax / 448
};

/// The largest number of float8 e4m3, the format of calibration files.
inline constexpr double kCalibratedLargest = 448;

/// As JSON: {"format": "float8_e4m3fn", "layers": [{"layer", "amax", "percentile", "scale"}, ...]}. The file appears
/// whole or not at all. Throws a runtime_error that says what could not be written.
void write_calibration(const std::string& path, const std::vector<LayerCalibration>& layers);

/// Throws a runtime_error with the path and what is wrong: no such file, no JSON, another format, a field that is
/// missing or out of its limits, a scale that is not its amax's, a layer twice.
std::vector<LayerCalibration> read_calibration(const std::string& path);

/// The scale of a layer of the file. Throws a runtime_error that names the layers that there are.
double scale_of_layer(const std::vector<LayerCalibration>& layers, const std::string& layer, const std::string& path);

}  // namespace examples
