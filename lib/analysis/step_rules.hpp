// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::analysis {

/// What a range stands for within a step.
enum class StepPart : std::uint8_t {
  kData,        ///< waiting for the next batch
  kForward,     ///< forward pass and loss
  kBackward,    ///< backward pass
  kOptimizer,   ///< update of the parameters, and what belongs to it
  kCheckpoint,  ///< writing or reading the state of the training
  kRecompute,   ///< forward work that is done again in the backward pass
  kSkipped,     ///< a range or mark with this name: the step's work was thrown away (gradients that overflowed)
  kNone,
};
inline constexpr std::size_t kStepParts = static_cast<std::size_t>(StepPart::kNone);

/// Which part of a step a range is, by its name. A pattern is a name in which `*` stands for any text; upper and lower
/// case are the same. The first part, in the order of StepPart, with a pattern that fits counts.
///
///   data        data data_* data.* data load* data-load* dataload* *loader*next* *reader*next* *dataset*next*
///               enumerate(DataLoader)* next(* *next_batch* load_batch* batch_generator* batch-generator* collate*
///               V*N *.V*N *::V*N, V: fetch get load next prepare read sample wait, N: batch batches data examples
///               images inputs records rows samples shard shards
///   forward     forward* *.forward loss
///   backward    backward* *.backward
///   optimizer   optimizer* zero_grad* clip_grad*
///   checkpoint  checkpoint* save_checkpoint* load_checkpoint*
///   recompute   recompute*
///   skipped     skipped_step* skip_step* step_skipped* overflow*
class StepRules {
 public:
  StepRules();
  /// `data=my_loader*,fetch*;forward=fwd`: these patterns instead of the part's own.
  ///
  /// Errors: kInvalidArgument for a part that does not exist, with the nearest one, or one without patterns.
  Status apply(std::string_view text);
  StepPart part_of(std::string_view name) const noexcept;

 private:
  std::array<std::vector<std::string>, kStepParts> patterns_;
};

std::string_view name_of(StepPart part) noexcept;

}  // namespace rangefinder::analysis
