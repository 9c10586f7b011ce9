// SPDX-License-Identifier: MIT
#include "common/slow_records.hpp"

#include <rangefinder/range.hpp>

#include <thread>
#include <utility>

namespace examples {

using rangefinder::ProfileRange;
using Example = torch::data::Example<>;

SlowRecords::SlowRecords(torch::Tensor values, torch::Tensor labels, Cost cost)
    : values_(std::move(values)), labels_(std::move(labels)), cost_(cost) {}

Example SlowRecords::get(std::size_t index) {
  const torch::NoGradGuard no_grad;
  const auto at = static_cast<std::int64_t>(index);
  torch::Tensor value;
  {
    const ProfileRange range("read");
    std::this_thread::sleep_for(cost_.read);
    value = values_[at].clone();
  }
  const ProfileRange range("preprocess");
  for (int round = 0; round < cost_.rounds; ++round) value.mul_(0.99).add_(0.01);
  return {value, labels_[at]};
}

std::optional<std::size_t> SlowRecords::size() const { return static_cast<std::size_t>(values_.size(0)); }

Example CollateRecords::apply_batch(std::vector<Example> records) {
  Example batch = torch::data::transforms::Stack<>().apply_batch(std::move(records));
  if (pin_) batch = {batch.data.pin_memory(), batch.target.pin_memory()};
  return batch;
}

}  // namespace examples
