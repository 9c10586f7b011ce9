// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/simulation.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

// Kernels as PyTorch launches them on the device of device.hpp: their names, launch configurations and times, which
// follow from the work and the peaks.
namespace rangefinder::testing::corpus {

/// What a product of matrices computes with.
enum class Math {
  kBf16,             ///< on tensor cores, as mixed precision has it
  kMisaligned,       ///< the same with a size that is no multiple of 8: the library's slow tensor core kernels
  kTf32,             ///< float on tensor cores
  kFp32,             ///< float without them
  kHalfWithoutCores  ///< half, by a kernel that does not use them
};

/// What PyTorch calls the type of its operands.
const char* type_name(Math math);

Kernel gemm_kernel(std::int64_t m, std::int64_t n, std::int64_t k, Math math);
Kernel convolution_kernel(double flops, const char* pass, Math math);
Kernel attention_kernel(double flops, bool backward);
/// Of one thread an element; `bytes` are those that it reads and writes.
Kernel elementwise_kernel(const std::string& functor, double bytes);
/// Another kernel that the memory's bandwidth limits.
Kernel streaming_kernel(const std::string& name, double bytes, std::uint32_t block = 256);
/// One of torch.compile.
Kernel fused_kernel(const std::string& operators, double bytes);

/// An operator and what it launches.
struct Op {
  std::string name;
  std::string inner;  ///< the operator in it that launches; empty: itself
  std::string shapes, types;
  std::vector<Kernel> kernels;
};

using Shape = std::vector<std::int64_t>;
/// "[[4,288],[]]"
std::string shapes_of(std::initializer_list<Shape> shapes);
/// A text as often as that: "[\"float\",\"float\"]"
std::string types_of(const char* type, int times, int scalars = 0);

/// y = x w + b, of [m, k] and [k, n].
Op linear_op(std::int64_t m, std::int64_t n, std::int64_t k, Math math);
/// The two products of its backward pass, and the sum for the bias.
std::vector<Op> linear_backward_ops(std::int64_t m, std::int64_t n, std::int64_t k, Math math);
Op elementwise_op(const std::string& name, const std::string& functor, const Shape& shape, Math math, int inputs = 1);
/// Of one tensor in half precision, by one kernel.
Op simple_op(const std::string& name, const Shape& shape, Kernel kernel);
Op layer_norm_op(std::int64_t rows, std::int64_t width, Math math);
Op layer_norm_backward_op(std::int64_t rows, std::int64_t width, Math math);
/// By flash attention, which looks back only.
Op attention_op(std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t width, bool backward);

/// What autograd's engine calls a node: "autograd::engine::evaluate_function: MulBackward0".
std::string autograd_node(const std::string& function);
/// Of a tensor of so many elements.
double bytes_of(std::int64_t elements, Math math = Math::kBf16);
void append(std::vector<Op>& to, std::vector<Op> ops);

}  // namespace rangefinder::testing::corpus
