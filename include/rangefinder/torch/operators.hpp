// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstdint>

// Component `torch`: link rangefinder::torch.
namespace rangefinder::torch {

/// What OperatorRecording records besides names and times.
struct OperatorOptions {
  /// Shapes and types of all inputs, values of numbers and of short lists of numbers: what torch.profiler records with
  /// record_shapes. Key averages by shape and FLOPs need it. A program whose inputs differ all the time fills the room
  /// for them; CaptureHealth::operators_without_inputs counts what comes then.
  bool shapes = false;
  /// Share of the outermost operators of each thread that are recorded, each with all that runs inside; drawn by
  /// chance, 0 to 1. CaptureHealth::sampled_out_operators counts the others.
  double sampling = 1.0;
  /// RECORD_USER_SCOPE, and what else LibTorch marks so (collectives), as ranges like ProfileRange.
  bool user_scopes = true;
};

/// Records LibTorch's operators as ranges of Category::operators() while it lives: `aten::linear` and, inside it,
/// `aten::addmm`; autograd nodes on the backward threads. They nest with ProfileRange by time and thread; reports leave
/// them out unless asked, the Chrome export writes them as `cpu_op`. The view `ops` has their key averages.
///
///   rangefinder::Session session;
///   rangefinder::torch::OperatorRecording operators{{.shapes = true}};  // C++20 spelling
///
/// The operators are those that torch.profiler records, in the same nesting, with the same numbers of autograd. Both
/// may run at once, begun and ended in any order: LibTorch tells each of them of every operator, and each pays.
///
/// Errors:  none reach the caller. An operator that ends on another thread than it began on is open until the one
///          around it ends, and counted (CaptureHealth::unfinished_ranges).
/// Threads: make and destroy it while no operator runs; several may live at once, they record once, all that any of
///          them asks for.
/// Cost:    LibTorch's own dispatch to callbacks. While a session records, besides, one range and a hash of the name
///          per operator; with shapes, a look at the inputs and a hash of them. While none does, nothing more.
class RANGEFINDER_EXPORT OperatorRecording {
 public:
  explicit OperatorRecording(const OperatorOptions& options = {});
  ~OperatorRecording();
  OperatorRecording(const OperatorRecording&) = delete;
  OperatorRecording& operator=(const OperatorRecording&) = delete;

 private:
  OperatorOptions options_;
};

}  // namespace rangefinder::torch
