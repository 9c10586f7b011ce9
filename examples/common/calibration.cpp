// SPDX-License-Identifier: MIT
#include "common/calibration.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <stdexcept>

namespace examples {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "float8_e4m3fn";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error("calibration " + path + ": " + what);
}

double number(const Json& entry, const char* field, const std::string& where, const std::string& path) {
  const auto found = entry.find(field);
  if (found == entry.end() || !found->is_number()) fail(path, where + " has no number \"" + field + "\"");
  return found->get<double>();
}

LayerCalibration layer_of(const Json& entry, const std::string& where, const std::string& path) {
  if (!entry.is_object() || !entry.contains("layer") || !entry["layer"].is_string())
    fail(path, where + " has no name \"layer\"");
  LayerCalibration layer;
  layer.layer = entry["layer"].get<std::string>();
  const std::string named = "layer \"" + layer.layer + "\"";
  layer.amax = number(entry, "amax", named, path);
  layer.percentile = number(entry, "percentile", named, path);
  layer.scale = number(entry, "scale", named, path);
  if (!(layer.amax > 0)) fail(path, named + ": amax is " + entry["amax"].dump() + ", and must be above 0");
  if (!(layer.percentile > 0 && layer.percentile <= 100))
    fail(path, named + ": percentile is " + entry["percentile"].dump() + ", and must be above 0 and at most 100");
  const double expected = layer.amax / kCalibratedLargest;
  if (!(std::abs(layer.scale - expected) <= 1e-6 * expected))
    fail(path, named + ": scale is " + entry["scale"].dump() + ", and amax / 448 is " + Json(expected).dump());
  return layer;
}

}  // namespace

void write_calibration(const std::string& path, const std::vector<LayerCalibration>& layers) {
  Json all = Json::array();
  for (const LayerCalibration& layer : layers)
    all.push_back(
        {{"layer", layer.layer}, {"amax", layer.amax}, {"percentile", layer.percentile}, {"scale", layer.scale}});
  const std::string unfinished = path + ".new";
  {
    std::ofstream file(unfinished);
    file << Json{{"format", kFormat}, {"layers", all}}.dump(2) << '\n';
    if (!file.flush()) fail(unfinished, std::string("cannot be written: ") + std::strerror(errno));
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0)
    fail(path, std::string("cannot be written: ") + std::strerror(errno));
}

std::vector<LayerCalibration> read_calibration(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(path, std::string("cannot be read: ") + std::strerror(errno) + "; run the calibration pass first");
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(path, "is not JSON");
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_array()) fail(path, "has no list \"layers\"");
  const bool named = json.contains("format") && json["format"].is_string();
  const std::string format = named ? json["format"].get<std::string>() : "";
  if (format != kFormat) fail(path, "is for \"" + format + "\", and must be for \"" + kFormat + "\"");
  std::vector<LayerCalibration> layers;
  std::set<std::string> names;
  for (const Json& entry : json["layers"]) {
    layers.push_back(layer_of(entry, "entry " + std::to_string(layers.size()) + " of \"layers\"", path));
    if (!names.insert(layers.back().layer).second) fail(path, "has layer \"" + layers.back().layer + "\" twice");
  }
  return layers;
}

double scale_of_layer(const std::vector<LayerCalibration>& layers, const std::string& layer, const std::string& path) {
  std::string names;
  for (const LayerCalibration& each : layers) {
    if (each.layer == layer) return each.scale;
    names += (names.empty() ? "" : ", ") + each.layer;
  }
  fail(path, "has no layer \"" + layer + "\"; its layers: " + names);
}

}  // namespace examples
