// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/result.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

// Tensors on their way from a worker to the harness: one line of JSON with names, types and shapes, then all bytes.
namespace rangefinder::bench {

/// Bytes of all elements.
std::uint64_t byte_count(const std::vector<TensorView>& tensors);

Status write_tensors(const std::vector<TensorView>& tensors, const std::string& path);

/// The tensors of a file, in memory.
class TensorFile {
 public:
  /// kUnreadable where shapes and size of the file do not agree, kTooLarge where there is no memory for them.
  static Result<TensorFile> open(const std::string& path);
  const std::vector<TensorView>& tensors() const noexcept { return tensors_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::vector<TensorView> tensors_;
};

/// XXH3, 128 bits, of names, types, shapes and bytes, as 32 hexadecimal digits.
std::string fingerprint(const std::vector<TensorView>& tensors);

}  // namespace rangefinder::bench
