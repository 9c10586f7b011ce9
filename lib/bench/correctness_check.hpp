// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"
#include "bench/tensor_file.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::bench {

/// The size whose outputs are compared where `size` is timed.
std::string size_of_check(const Benchmark& benchmark, const std::string& size);
/// Whom a check asks for outputs.
enum class Checked : std::uint8_t { kBaseline, kOptimized, kReference };

/// Variants that a check makes, and steps that they take in all.
inline std::int64_t setups_of_check(const Benchmark& benchmark) { return benchmark.reference.make ? 10 : 8; }
inline std::int64_t steps_of_check(const Benchmark& benchmark) {
  // Two seeds of two variants, and of the reference; then each variant plain and perturbed, a step longer.
  const std::int64_t steps = benchmark.check_steps;
  return (benchmark.reference.make ? 6 : 4) * steps + 4 * (steps + 1);
}

/// The file of a rank's outputs, where that of a single process is `path`.
std::string outputs_path(const std::string& path, unsigned rank, unsigned ranks);

/// Whether both variants compute the same, from the same inputs, and compute at all. Speed is not looked at before.
class CorrectnessCheck {
 public:
  /// Asks all ranks of a variant, or the reference's single process. Each rank writes its outputs to a file of its own,
  /// outputs_path of `file`.
  using Ask = std::function<Result<std::vector<Json>>(Checked which, const Json& request)>;

  /// disk_limit: bytes of outputs on disk, of one variant at a time; what exceeds it is an error. A rank has its share.
  CorrectnessCheck(const Benchmark& benchmark, Setup setup, std::string folder, std::uint64_t disk_limit,
                   unsigned ranks, Ask ask)
      : benchmark_(benchmark),
        setup_(std::move(setup)),
        folder_(std::move(folder)),
        disk_limit_(disk_limit),
        ranks_(ranks),
        ask_(std::move(ask)) {}

  /// Fills in inputs and differences; an error says which check failed.
  ///   same inputs      by fingerprint, as both variants report them after set-up, rank by rank
  ///   same outputs     all elements of all of them, within the tolerance; each rank that has any is held against the
  ///                    reference or, without one, against the same rank of the baseline
  ///   fresh inputs     another seed gives other inputs, other outputs, and the variants agree again
  ///   perturbation     one changed input element before the last step gives another output
  Status run(Row& row) const;

 private:
  /// What a variant made anew came to, by fingerprint.
  struct Fingerprints {
    std::vector<std::string> inputs;  ///< of each rank
    std::vector<std::string> outputs;
    std::int64_t input_bytes = 0;  ///< of all
    std::int64_t output_bytes = 0;
  };
  struct All {
    Fingerprints baseline;
    Fingerprints optimized;
    Difference difference;
    std::optional<Difference> baseline_difference{};
  };
  unsigned ranks_of(Checked which) const noexcept { return which == Checked::kReference ? 1 : ranks_; }
  std::string path_of(Checked which) const;
  /// path: where the worker writes the outputs themselves; empty: nowhere.
  Result<Fingerprints> fingerprints(Checked which, std::uint64_t seed, std::int64_t steps, std::int64_t perturb_after,
                                    const std::string& path) const;
  /// The outputs of a rank, which are on disk until they are read.
  Result<TensorFile> outputs(Checked which, unsigned rank) const;
  /// Of all ranks, in memory: what others are held against.
  Result<std::vector<TensorFile>> held(Checked which, std::uint64_t seed, Fingerprints& found) const;
  Result<Difference> compared(Checked which, std::uint64_t seed, const std::vector<TensorFile>& against,
                              const Tolerance& tolerance, Fingerprints& found) const;
  Result<All> compared(std::uint64_t seed, const Tolerance& tolerance) const;
  /// Of the baseline first, which is named where a reference judges both; empty: none.
  static std::string failure_of(const All& all);
  Status agree(Row& row) const;  ///< all but the perturbation
  Status changes_with_an_input(Checked which) const;

  const Benchmark& benchmark_;
  Setup setup_;
  std::string folder_;
  std::uint64_t disk_limit_;
  unsigned ranks_;
  Ask ask_;
};

}  // namespace rangefinder::bench
