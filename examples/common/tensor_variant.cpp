// SPDX-License-Identifier: MIT
#include "common/tensor_variant.hpp"

#include <memory>
#include <stdexcept>

namespace examples {
namespace {

bench::ElementType element_type(const NamedTensor& named) {
  switch (named.tensor.scalar_type()) {
    case torch::kBool:
      return bench::ElementType::kBool;
    case torch::kUInt8:
      return bench::ElementType::kUint8;
    case torch::kInt8:
      return bench::ElementType::kInt8;
    case torch::kInt16:
      return bench::ElementType::kInt16;
    case torch::kInt32:
      return bench::ElementType::kInt32;
    case torch::kInt64:
      return bench::ElementType::kInt64;
    case torch::kHalf:
      return bench::ElementType::kFloat16;
    case torch::kBFloat16:
      return bench::ElementType::kBFloat16;
    case torch::kFloat:
      return bench::ElementType::kFloat32;
    case torch::kDouble:
      return bench::ElementType::kFloat64;
    default:
      throw std::invalid_argument(named.name + ": no view of " + torch::toString(named.tensor.scalar_type()));
  }
}

}  // namespace

const char* flops_type_of(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat:
      return "fp32";
    case torch::kBFloat16:
      return "bf16";
    case torch::kHalf:
      return "fp16";
    case torch::kDouble:
      return "fp64";
    case torch::kFloat8_e4m3fn:
    case torch::kFloat8_e5m2:
      return "fp8";
    default:
      return "";
  }
}

bench::TensorView view_of(const NamedTensor& named) {
  if (!named.tensor.defined()) throw std::invalid_argument(named.name + ": undefined");
  bench::TensorView view;
  view.name = named.name;
  view.type = element_type(named);
  view.shape = named.tensor.sizes().vec();
  const auto kept = std::make_shared<torch::Tensor>(named.tensor.detach().to(torch::kCPU).contiguous());
  view.data = kept->data_ptr();
  view.owner = kept;
  return view;
}

std::vector<bench::TensorView> views_of(const std::vector<NamedTensor>& named) {
  std::vector<bench::TensorView> views;
  views.reserve(named.size());
  for (const NamedTensor& one : named) views.push_back(view_of(one));
  return views;
}

std::vector<NamedTensor> parameters_of(const torch::nn::Module& module) {
  std::vector<NamedTensor> found;
  for (const auto& parameter : module.named_parameters()) found.push_back({parameter.key(), parameter.value()});
  return found;
}

std::vector<NamedTensor> gradients_of(const torch::nn::Module& module) {
  std::vector<NamedTensor> found;
  for (const auto& parameter : module.named_parameters())
    found.push_back({"gradient of " + parameter.key(), parameter.value().grad()});
  return found;
}

void TensorVariant::setup(const bench::Setup& setup) {
  device_ = torch::Device(setup.device == "cuda" ? torch::kCUDA : torch::kCPU);
  size_ = setup.size;
  torch::set_num_threads(1);
  torch::manual_seed(setup.seed);
  make();
}

std::vector<bench::TensorView> TensorVariant::inputs() { return views_of(given()); }
std::vector<bench::TensorView> TensorVariant::outputs() { return views_of(results()); }

void TensorVariant::perturb() {
  const torch::NoGradGuard no_grad;
  const torch::Tensor first = given().at(0).tensor.detach().view({-1});
  first[first.numel() / 2].add_(1);
}

void TensorVariant::synchronize() {
  if (device_.is_cuda()) torch::cuda::synchronize();
}

}  // namespace examples
