// SPDX-License-Identifier: MIT
// The main.cpp of the project in docs/how-to/install.md that links LibTorch.
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/torch/operators.hpp>

#include <ATen/ATen.h>

int main(int, char** argv) {
  rangefinder::Session session{{.output = argv[1]}};
  rangefinder::torch::OperatorRecording operators;
  rangefinder::ProfileRange step{"step"};
  const at::Tensor product = at::ones({4, 4}).mm(at::ones({4, 4}));
  return product.sum().item<float>() == 64 ? 0 : 1;
}
