// SPDX-License-Identifier: MIT
#pragma once

#include "bench/row.hpp"
#include "bench/tensor_file.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace rangefinder::bench {

/// Whether both variants compute the same, from the same inputs, and compute at all. Speed is not looked at before.
class CorrectnessCheck {
 public:
  using Ask = std::function<Result<Json>(bool optimized, const Json& request)>;

  CorrectnessCheck(const Benchmark& benchmark, const Setup& setup, std::string folder, Ask ask)
      : benchmark_(benchmark), setup_(setup), folder_(std::move(folder)), ask_(std::move(ask)) {}

  /// Fills in inputs and difference; an error says which check failed.
  ///   same inputs      by fingerprint, as both variants report them after set-up
  ///   same outputs     all elements of all of them, within the tolerance
  ///   fresh inputs     another seed gives other inputs, other outputs, and the variants agree again
  ///   perturbation     one changed input element before the last step gives another output
  Status run(Row& row) const;

 private:
  /// Outputs of a variant made anew; the file is gone as soon as it is read.
  struct Outputs {
    std::string inputs;
    TensorFile file;
  };
  Result<Outputs> outputs(bool optimized, std::uint64_t seed, std::int64_t steps, std::int64_t perturb_after) const;
  Status agree(Row& row) const;  ///< all but the perturbation
  Status changes_with_an_input(bool optimized) const;

  const Benchmark& benchmark_;
  const Setup& setup_;
  std::string folder_;
  Ask ask_;
};

}  // namespace rangefinder::bench
