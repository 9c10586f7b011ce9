// SPDX-License-Identifier: MIT
#pragma once

#include "common/tensor_variant.hpp"
#include "workloads/graphs/captured_work.hpp"
#include "workloads/graphs/fixed_decoder.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace examples {

enum class Launching : std::uint8_t {
  kEager,         ///< each operator by the host
  kPrivatePools,  ///< a graph for each of some numbers of sequences, with a pool of memory each
  kSharedPool,    ///< one pool for all of them, captured largest first
};

/// What GraphDecoding takes.
bench::Estimate estimate_graph_decoding(const bench::Setup& setup);

/// Eight sequences, of which some end before others. Graphs are captured for 8, 4, 2 and 1 of them; for three, as for
/// any other number, operators are launched one by one.
class GraphDecoding : public TensorVariant {
 public:
  explicit GraphDecoding(Launching launching) : launching_(launching) {}
  void step() override;
  void perturb() override;
  bench::Work work() override;
  /// Launches of a step; of graphs: bytes of their pools, and tokens that no graph was there for.
  std::vector<bench::Metric> metrics() override;

 private:
  void make() override;
  std::vector<NamedTensor> given() override;
  std::vector<NamedTensor> results() override { return {{"logits", decoder_->logits()}}; }
  std::map<std::int64_t, CapturedWork> capture(const std::vector<std::int64_t>& sizes, std::vector<GraphPool>& pools);
  std::int64_t launches_of(std::int64_t sequences);

  Launching launching_;
  FixedDecoderOptions options_{};
  std::optional<FixedDecoder> decoder_;
  std::vector<GraphPool> pools_;
  std::map<std::int64_t, CapturedWork> graphs_;
  std::int64_t eager_tokens_ = 0;
};

}  // namespace examples
