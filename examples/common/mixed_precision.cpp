// SPDX-License-Identifier: MIT
#include "common/mixed_precision.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/cpu/Utils.h>

namespace examples {
namespace {

constexpr double kGrowth = 2.0, kBackoff = 0.5;
constexpr std::int64_t kGrowthInterval = 2000;

bool cpu_has(const char* capability) {
  const auto capabilities = at::cpu::get_cpu_capabilities();
  const auto found = capabilities.find(capability);
  return found != capabilities.end() && found->second.isBool() && found->second.toBool();
}

}  // namespace

bool has_bfloat16_products() { return cpu_has("avx512_bf16") || has_bfloat16_tiles(); }

bool has_bfloat16_tiles() { return cpu_has("amx_bf16"); }

Autocast::Autocast(torch::DeviceType device, torch::ScalarType type, bool enabled, bool cache)
    : device_(device),
      was_enabled_(at::autocast::is_autocast_enabled(device)),
      was_type_(at::autocast::get_autocast_dtype(device)),
      was_cached_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::set_autocast_enabled(device, enabled);
  at::autocast::set_autocast_dtype(device, type);
  at::autocast::set_autocast_cache_enabled(cache);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  // Weights change between two regions: a cast that outlived the outermost one would be of old weights.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, was_type_);
  at::autocast::set_autocast_cache_enabled(was_cached_);
}

GradScaler::GradScaler(torch::Device device, double factor)
    : factor_(torch::full({}, factor, torch::TensorOptions(device).dtype(torch::kFloat))),
      good_steps_(torch::zeros({}, torch::TensorOptions(device).dtype(torch::kInt))),
      overflowed_(torch::zeros({}, torch::TensorOptions(device).dtype(torch::kFloat))) {}

torch::Tensor GradScaler::scale(const torch::Tensor& loss) const { return loss * factor_; }

bool GradScaler::step(const std::vector<torch::Tensor>& parameters, const std::function<void()>& update) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  overflowed_.zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflowed_, factor_.reciprocal());
  const bool good = overflowed_.item<float>() == 0;
  if (good)
    update();
  else
    ++skipped_;
  at::_amp_update_scale_(factor_, good_steps_, overflowed_, kGrowth, kBackoff, kGrowthInterval);
  return good;
}

double GradScaler::factor() const { return factor_.item<float>(); }

}  // namespace examples
