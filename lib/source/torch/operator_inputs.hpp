// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <string>

namespace rangefinder::torch {

/// Finds the number of the text that tells an operator's inputs (detail::intern_inputs), in the words of
/// torch.profiler's traces: shapes and types of tensors, values of numbers and of short lists of numbers.
///
/// Texts are made once for inputs that look the same: what tells them apart is gathered as bytes, which are compared
/// with those of before. No allocation where they are among them. One per thread.
class OperatorInputs {
 public:
  struct Found {
    std::uint32_t id = 0;  ///< 0: no inputs, or
    bool lost = false;     ///< there is no room for the text
  };
  /// While the operator's start is told: its inputs are gone afterwards.
  Found find(const at::RecordFunction& function) noexcept;

 private:
  std::uint32_t find_or_make();

  struct Slot {
    std::string key;  // empty: free
    std::uint32_t id = 0;
  };
  std::unique_ptr<Slot[]> slots_;
  std::string key_;
};

/// What tells inputs apart, appended to `key`; false when that is more than any text that fits. Lists are looked at as
/// far as torch.profiler shows them.
bool append_inputs_key(std::string& key, c10::ArrayRef<const c10::IValue> inputs);

/// The three JSON lists of a key, a line break between them: shapes, types, values.
std::string inputs_text(const std::string& key);

}  // namespace rangefinder::torch
