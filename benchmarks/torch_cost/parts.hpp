// SPDX-License-Identifier: MIT
#pragma once

// Each prints its tables and its targets. The parent process runs no operator before the last of them: a child of fork
// has none of LibTorch's threads.
namespace bench {

/// An operator of the forward pass, while ranges and nodes are recorded and operators are not.
void forward_cost(int rounds);
/// A range, while LibTorch is asked how far its nodes are numbered, and without that.
void range_cost(int rounds);
/// An operator that is recorded, by us and by Kineto.
void operator_cost(int rounds);
/// A whole training step, in CPU time.
void step_cost(int rounds);
/// The same on a GPU, in time, with its kernels and without, beside Kineto.
void gpu_step_cost(int rounds);
/// Bytes of an operator in our capture and in Kineto's JSON of the same steps.
void operator_size(int rounds);

}  // namespace bench
