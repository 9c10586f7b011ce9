// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <cstddef>
#include <optional>

namespace examples {

/// Records behind a source that makes its reader wait, as a disk or a network does; each is a little computed with when
/// it is there. Ranges `read` and `preprocess`.
class SlowRecords : public torch::data::Dataset<SlowRecords> {
 public:
  struct Cost {
    std::chrono::microseconds read;
    int rounds = 0;  ///< of preprocessing
  };
  SlowRecords(torch::Tensor values, torch::Tensor labels, Cost cost);
  torch::data::Example<> get(std::size_t index) override;
  std::optional<std::size_t> size() const override;

 private:
  torch::Tensor values_, labels_;
  Cost cost_;
};

/// Records to a batch, off the training thread if there are others; pinned, a device can fetch it by itself.
struct CollateRecords : torch::data::transforms::Collation<torch::data::Example<>> {
  explicit CollateRecords(bool pin) : pin_(pin) {}
  torch::data::Example<> apply_batch(std::vector<torch::data::Example<>> records) override;

 private:
  bool pin_;
};

}  // namespace examples
