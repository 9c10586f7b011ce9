// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstdint>

// Component `torch`: link rangefinder::torch.
namespace rangefinder::torch {

/// Records LibTorch's operators as ranges of Category::operators() while it lives: `aten::linear` and, inside it,
/// `aten::addmm`; autograd nodes on the backward threads. They nest with ProfileRange by time and thread; reports leave
/// them out unless asked, the Chrome export writes them as `cpu_op`.
///
///   rangefinder::Session session;
///   rangefinder::torch::OperatorRecording operators;
///
/// Threads: make and destroy it while no operator runs; several may live at once, they record once.
/// Cost:    nothing while no session records, otherwise one range and a hash of the name per operator, on top of
///          LibTorch's own dispatch to callbacks.
class RANGEFINDER_EXPORT OperatorRecording {
 public:
  OperatorRecording();
  ~OperatorRecording();
  OperatorRecording(const OperatorRecording&) = delete;
  OperatorRecording& operator=(const OperatorRecording&) = delete;
};

}  // namespace rangefinder::torch
