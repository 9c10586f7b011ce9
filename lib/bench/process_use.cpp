// SPDX-License-Identifier: MIT
#include "bench/process_use.hpp"

#include <numeric>

namespace rangefinder::bench {
namespace {

constexpr std::array<const char*, kDoings> kPartNames{"start_ns", "check_ns",     "setup_ns", "warm_up_ns",
                                                      "steps_ns", "recording_ns", "other_ns"};
constexpr double kJoulesPerKilowattHour = 3.6e6;

}  // namespace

void ProcessUse::add(Doing doing, JsonView answer) {
  ns[static_cast<std::size_t>(doing)] += answer["request_ns"].integer();
  ns[static_cast<std::size_t>(Doing::kStart)] += answer["start_ns"].integer();
  if (answer["request_energy_mj"].is_number())
    energy_mj = energy_mj.value_or(0) + answer["request_energy_mj"].integer();
}

std::int64_t ProcessUse::all_ns() const noexcept { return std::accumulate(ns.begin(), ns.end(), std::int64_t{0}); }

Json goodput_json(const ProcessUse& use, const std::vector<double>& wall_ns) {
  const std::int64_t all_ns = use.all_ns();
  if (wall_ns.empty() || all_ns <= 0) return {};
  const double useful_ns = std::accumulate(wall_ns.begin(), wall_ns.end(), 0.0);
  Json out = Json::object({{"value", useful_ns / static_cast<double>(all_ns)},
                           {"useful_ns", static_cast<std::int64_t>(useful_ns)},
                           {"process_ns", all_ns}});
  for (std::size_t i = 0; i < kDoings; ++i) out[kPartNames[i]] = use.ns[i];
  return out;
}

Json energy_json(JsonView rows, double carbon_intensity) {
  double joules = 0;
  bool told = false;
  for (const JsonView row : rows.items()) {
    for (const char* variant : {"baseline", "optimized"}) {
      const JsonView energy = row[variant]["process_energy_j"];
      joules += energy.number();
      told = told || energy.is_number();
    }
  }
  if (!told) return {};
  const double kwh = joules / kJoulesPerKilowattHour;
  const bool emitted = carbon_intensity > 0;
  return Json::object({{"kwh", kwh},
                       {"carbon_intensity_g_per_kwh", emitted ? Json(carbon_intensity) : Json()},
                       {"co2e_g", emitted ? Json(kwh * carbon_intensity) : Json()}});
}

}  // namespace rangefinder::bench
