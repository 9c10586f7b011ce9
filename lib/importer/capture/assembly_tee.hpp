// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/assembled_event.hpp"

#include <type_traits>
#include <variant>
#include <vector>

namespace rangefinder::importer {

/// Tells two sinks the same. What ends because the recording does can be held back from the first one.
class AssemblyTee final : public AssemblyEvents<AssemblyTee> {
 public:
  AssemblyTee(AssemblySink& first, AssemblySink& second) noexcept : first_(first), second_(second) {}

  /// From now on, of HostAssembler::finish.
  void hold_back() noexcept { holds_back_ = true; }
  /// Tells the first sink what was held back.
  void give_out() {
    holds_back_ = false;
    for (const Held& each : held_) std::visit([this](const auto& event) { tell(first_, event); }, each);
    held_.clear();
  }

  template <typename Event>
  void pass(const Event& event) {
    if constexpr (std::is_constructible_v<Held, const Event&>) {
      if (holds_back_) {
        held_.emplace_back(event);
        return tell(second_, event);
      }
    }
    tell(first_, event);
    tell(second_, event);
  }

 private:
  // What HostAssembler::finish tells of.
  using Held = std::variant<AssembledRange, AssembledNotResumed, AssembledSequence, AssembledNode, AssembledMemory,
                            AssembledCollective>;

  AssemblySink& first_;
  AssemblySink& second_;
  bool holds_back_ = false;
  std::vector<Held> held_;
};

}  // namespace rangefinder::importer
