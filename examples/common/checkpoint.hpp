// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <functional>

namespace examples {

/// A part of a forward pass: one tensor in, one out. Gives the same output whenever it is run on the same input.
using Segment = std::function<torch::Tensor(const torch::Tensor&)>;

/// What `segment` makes of `x`. Of all that lies between only `x` is kept: the backward pass runs the segment again, in
/// a range `recompute`. Gradients are those of the plain call, bit for bit, also with dropout (the generators of the
/// host and of the device of `x` are set back for the second run, and forward again after it) and under autocast.
/// Without gradients it is the plain call. What `segment` refers to must live until the backward pass is done.
torch::Tensor checkpoint(Segment segment, const torch::Tensor& x);

}  // namespace examples
