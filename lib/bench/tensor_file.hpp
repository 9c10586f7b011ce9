// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"

#include <rangefinder/bench/pair.hpp>
#include <rangefinder/result.hpp>

#include <string>
#include <vector>

// Tensors on their way from a worker to the harness: one line of JSON with names, types and shapes, then all bytes.
namespace rangefinder::bench {

Status write_tensors(const std::vector<TensorView>& tensors, const std::string& path);

/// Tensors of a file, which stays mapped as long as this lives.
class TensorFile {
 public:
  /// kUnreadable where shapes and size of the file do not agree.
  static Result<TensorFile> open(const std::string& path);
  const std::vector<TensorView>& tensors() const noexcept { return tensors_; }

 private:
  base::MappedInput input_;
  std::vector<TensorView> tensors_;
};

/// XXH3, 128 bits, of names, types, shapes and bytes, as 32 hexadecimal digits.
std::string fingerprint(const std::vector<TensorView>& tensors);

}  // namespace rangefinder::bench
