// SPDX-License-Identifier: MIT
#include "common/language_variant.hpp"

#include "common/estimates.hpp"

#include <utility>

namespace examples {

void LanguageVariant::draw_tokens(std::int64_t batch, std::int64_t length, std::int64_t vocabulary) {
  vocabulary_ = vocabulary;
  const torch::Tensor text = torch::randint(vocabulary, {batch, length + 1}, torch::kInt64).to(device());
  tokens_ = text.narrow(1, 0, length).contiguous();
  targets_ = text.narrow(1, 1, length).contiguous();
}

void LanguageVariant::adopt(std::shared_ptr<torch::nn::Module> model) {
  model_ = std::move(model);
  model_->to(device());
  for (torch::Tensor& parameter : model_->parameters()) parameter.mutable_grad() = torch::zeros_like(parameter);
}

std::vector<NamedTensor> LanguageVariant::given() {
  std::vector<NamedTensor> all{{"tokens", tokens_}, {"targets", targets_}};
  for (NamedTensor& weight : parameters_of(*model_)) all.push_back(std::move(weight));
  return all;
}

std::vector<NamedTensor> LanguageVariant::results() {
  std::vector<NamedTensor> all{{"loss", loss_}};
  for (NamedTensor& gradient : gradients_of(*model_)) all.push_back(std::move(gradient));
  for (NamedTensor& weight : parameters_of(*model_)) all.push_back(std::move(weight));
  return all;
}

void LanguageVariant::perturb() {
  const torch::Tensor all = tokens_.view({-1});
  all[all.numel() / 2].add_(1).remainder_(vocabulary_);
}

bench::Work LanguageVariant::work() {
  bench::Work work;
  work.tokens = static_cast<double>(tokens_.numel());
  work.flops = step_flops();
  work.flops_type = flops_type_of(products_type());
  return work;
}

torch::Tensor LanguageVariant::cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets) {
  return torch::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
}

bench::Estimate language_estimate(std::int64_t batch, std::int64_t length, double parameters, double flops,
                                  double launches) {
  const double tokens = elements({batch, length});
  return {.input_bytes = 2 * kIndexBytes * tokens + kFloatBytes * parameters,
          .output_bytes = kFloatBytes * (1 + 2 * parameters),  // loss, gradients, weights
          .flops = flops,
          .launches = launches,
          .random_numbers = tokens + parameters};
}

}  // namespace examples
