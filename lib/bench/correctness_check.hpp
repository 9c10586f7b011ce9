// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"
#include "bench/tensor_file.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace rangefinder::bench {

/// The size whose outputs are compared where `size` is timed.
std::string size_of_check(const Benchmark& benchmark, const std::string& size);
/// Variants that a check makes, and steps that they take in all.
inline constexpr std::int64_t kSetupsOfCheck = 8;
constexpr std::int64_t steps_of_check(const Benchmark& benchmark) {
  // Two seeds of two variants; then each variant plain and perturbed, a step longer.
  return 4 * std::int64_t{benchmark.check_steps} + 4 * (std::int64_t{benchmark.check_steps} + 1);
}

/// Whether both variants compute the same, from the same inputs, and compute at all. Speed is not looked at before.
class CorrectnessCheck {
 public:
  using Ask = std::function<Result<Json>(bool optimized, const Json& request)>;

  /// disk_limit: bytes of outputs on disk, of one variant at a time; what exceeds it is an error.
  CorrectnessCheck(const Benchmark& benchmark, Setup setup, std::string folder, std::uint64_t disk_limit, Ask ask)
      : benchmark_(benchmark),
        setup_(std::move(setup)),
        folder_(std::move(folder)),
        disk_limit_(disk_limit),
        ask_(std::move(ask)) {}

  /// Fills in inputs and difference; an error says which check failed.
  ///   same inputs      by fingerprint, as both variants report them after set-up
  ///   same outputs     all elements of all of them, within the tolerance
  ///   fresh inputs     another seed gives other inputs, other outputs, and the variants agree again
  ///   perturbation     one changed input element before the last step gives another output
  Status run(Row& row) const;

 private:
  /// What a variant made anew came to, by fingerprint.
  struct Fingerprints {
    std::string inputs;
    std::string outputs;
    std::int64_t input_bytes = 0;
    std::int64_t output_bytes = 0;
  };
  struct Both {
    Fingerprints baseline;
    Fingerprints optimized;
    Difference difference;
  };
  /// path: where the worker writes the outputs themselves; empty: nowhere.
  Result<Fingerprints> fingerprints(bool optimized, std::uint64_t seed, std::int64_t steps, std::int64_t perturb_after,
                                    const std::string& path) const;
  /// With the outputs, which are on disk until they are read.
  Result<TensorFile> outputs(bool optimized, std::uint64_t seed, Fingerprints& found) const;
  Result<Both> compared(std::uint64_t seed, const Tolerance& tolerance) const;
  Status agree(Row& row) const;  ///< all but the perturbation
  Status changes_with_an_input(bool optimized) const;

  const Benchmark& benchmark_;
  Setup setup_;
  std::string folder_;
  std::uint64_t disk_limit_;
  Ask ask_;
};

}  // namespace rangefinder::bench
