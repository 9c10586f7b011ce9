// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/rule.hpp"
#include "analysis/kernel_families.hpp"
#include "analysis/occupancy.hpp"
#include "analysis/spread.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

// Kernels one after the other that each read from memory what the one before wrote there.
namespace rangefinder::advice {
namespace {

// A pair is what a residual connection or a scaled activation is; from three on fusing is worth the work.
constexpr std::size_t kShortestChain = 3;
// With a norm beside them two are enough: what scales and shifts its output is part of it.
constexpr std::size_t kShortestBesideNorm = 2;

/// Kernels by stream, in the order in which they ran.
std::vector<std::vector<ActivityIndex>> work_by_stream(Context& context) {
  const Timeline& timeline = context.timeline();
  std::vector<std::vector<ActivityIndex>> streams(timeline.streams.size());
  for (const ActivityIndex activity : context.work()) streams[timeline.activities.stream[activity]].push_back(activity);
  for (std::vector<ActivityIndex>& stream : streams)
    std::stable_sort(stream.begin(), stream.end(), [&](ActivityIndex a, ActivityIndex b) {
      return timeline.activities.begin_ns[a] < timeline.activities.begin_ns[b];
    });
  return streams;
}

enum class Pass : std::uint8_t {
  kNone,
  kElementwise,  ///< each element by itself
  kNorm,         ///< of rows
  kSum,          ///< or softmax
};

/// What kernels do with their tensors. Some end a chain: a batch norm needs the whole batch before the first element is
/// ready, each launch of `multi_tensor_apply` takes other tensors, and what a compiler has fused it could not fuse with
/// more.
class Passes {
 public:
  explicit Passes(Context& context) : context_(context), known_(context.timeline().string_count()) {}

  Pass of(ActivityIndex activity) {
    using enum analysis::KernelFamily;
    if (context_.timeline().activities.kind[activity] != ActivityKind::kKernel) return Pass::kNone;
    const Name& name = name_of(activity);
    if (name.ends_chain) return Pass::kNone;
    switch (context_.families().of(activity)) {
      case kElementwise:
        return Pass::kElementwise;
      case kOptimizer:  // one that is written out in operators
        return name.is_elementwise ? Pass::kElementwise : Pass::kNone;
      case kNormalization:
        return Pass::kNorm;
      case kReduction:
        return Pass::kSum;
      default:
        return Pass::kNone;
    }
  }

 private:
  struct Name {
    bool is_read = false, is_elementwise = false, ends_chain = false;
  };

  const Name& name_of(ActivityIndex activity) {
    const StringId id = context_.timeline().activities.name[activity];
    Name& name = known_[static_cast<std::size_t>(id)];
    if (name.is_read) return name;
    const std::string_view text = context_.timeline().text(id);
    name.is_read = true;
    name.is_elementwise = analysis::family_of_kernel(text) == analysis::KernelFamily::kElementwise;
    for (const std::string_view part :
         {"batch", "bn_", "pool", "multi_tensor", "triton_poi_fused", "triton_red_fused", "triton_per_fused"})
      name.ends_chain = name.ends_chain || text.find(part) != std::string_view::npos;
    return name;
  }

  Context& context_;
  std::vector<Name> known_;
};

/// Elementwise kernels of tensors of one size, and norms and sums between them.
struct Chain {
  std::uint64_t threads = 0;
  std::vector<ActivityIndex> kernels;
  std::int64_t time_ns = 0;
};

/// Kernels of one chain work on tensors of one size. How many elements a thread takes differs by kernel, from 1 to 8.
bool are_alike(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t kMostDifference = 8;
  return a == 0 || b == 0 || (a / kMostDifference <= b && b / kMostDifference <= a);
}

/// What runs on a stream without anything else between.
class Run {
 public:
  explicit Run(const Timeline& timeline) : timeline_(timeline) {}

  void add(ActivityIndex kernel, Pass pass) {
    if (pass != Pass::kElementwise) {
      rows_.push_back(kernel);
      has_norm_ = has_norm_ || pass == Pass::kNorm;
      return;
    }
    const KernelDetail* const launch = launch_configuration(timeline_, kernel);
    const std::uint64_t threads = launch != nullptr ? analysis::blocks_of(*launch) * analysis::threads_of(*launch) : 0;
    // There are few: of 22 sizes, two are alike.
    auto chain = std::find_if(chains_.begin(), chains_.end(),
                              [threads](const Chain& one) { return are_alike(one.threads, threads); });
    if (chain == chains_.end()) chain = chains_.insert(chain, Chain{threads, {}, 0});
    chain->kernels.push_back(kernel);
    chain->time_ns = analysis::saturating_add(chain->time_ns, length_of(timeline_, kernel));
  }

  /// Its chains, and begins again. Norms and sums count for the one that takes longest.
  std::vector<Chain> finish() {
    std::vector<Chain> chains = std::move(chains_);
    const auto longest = std::max_element(chains.begin(), chains.end(),
                                          [](const Chain& a, const Chain& b) { return a.time_ns < b.time_ns; });
    if (longest != chains.end() && longest->kernels.size() >= (has_norm_ ? kShortestBesideNorm : kShortestChain))
      longest->kernels.insert(longest->kernels.end(), rows_.begin(), rows_.end());
    std::erase_if(chains, [](const Chain& chain) { return chain.kernels.size() < kShortestChain; });
    chains_.clear();
    rows_.clear();
    has_norm_ = false;
    return chains;
  }

 private:
  const Timeline& timeline_;
  std::vector<Chain> chains_;
  std::vector<ActivityIndex> rows_;
  bool has_norm_ = false;
};

/// After how many kernels the names of a chain repeat; its length: never.
std::size_t period_of(const Timeline& timeline, std::span<const ActivityIndex> chain) {
  std::vector<std::size_t> same(chain.size());  // how many of the first names the names up to here end with
  const auto name = [&](std::size_t i) { return timeline.activities.name[chain[i]]; };
  for (std::size_t i = 1; i < chain.size(); ++i) {
    std::size_t length = same[i - 1];
    while (length > 0 && name(i) != name(length)) length = same[length - 1];
    same[i] = name(i) == name(length) ? length + 1 : 0;
  }
  return chain.empty() ? 0 : chain.size() - same.back();
}

}  // namespace

Judgement judge_elementwise_chain(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  Change change;
  EvidenceTable evidence(context);
  std::uint64_t chains = 0;
  const auto take = [&](std::span<const ActivityIndex> chain) {
    ++chains;
    // One kernel reads and writes what the longest of them does.
    const ActivityIndex longest = *std::max_element(chain.begin(), chain.end(), [&](ActivityIndex a, ActivityIndex b) {
      return length_of(timeline, a) < length_of(timeline, b);
    });
    for (const ActivityIndex kernel : chain) {
      evidence.add_activity(kernel, length_of(timeline, kernel));
      if (kernel != longest) change.scale_activity(timeline, kernel, 0);
    }
  };
  const auto take_run = [&](Run& run) {
    for (const Chain& chain : run.finish()) {
      const std::span<const ActivityIndex> kernels = chain.kernels;
      // An optimizer does the same with one parameter after the other.
      const bool is_optimizer = context.families().of(kernels.front()) == analysis::KernelFamily::kOptimizer;
      const std::size_t period = is_optimizer ? period_of(timeline, kernels) : kernels.size();
      const std::size_t length = period >= kShortestChain ? period : kernels.size();
      for (std::size_t first = 0; first < kernels.size(); first += length)
        take(kernels.subspan(first, std::min(length, kernels.size() - first)));
    }
  };
  Passes passes(context);
  for (const std::vector<ActivityIndex>& stream : work_by_stream(context)) {
    Run run(timeline);
    for (const ActivityIndex activity : stream) {
      const Pass pass = passes.of(activity);
      if (pass != Pass::kNone)
        run.add(activity, pass);
      else
        take_run(run);
    }
    take_run(run);
  }
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  const std::uint64_t frames = context.frames().count();
  return Judgement::found(finding_of(
      AdviceRule::kElementwiseChain, gain_ns, evidence,
      {counted(evidence.count(), "elementwise kernel") + a_step(context) + in_range(evidence.main_range()) +
           " are in " + counted((chains + frames - 1) / frames, "chain") + " of " + std::to_string(kShortestChain) +
           " and more that each could be one kernel",
       "Fuse them: torch.compile or TorchScript's fuser, an operator that does it all (gelu, silu, layer_norm, "
       "scaled_dot_product_attention), foreach=True or fused=True for an optimizer; in C++ a kernel of your own, or "
       "TensorIterator with one lambda",
       "`report --view kernels` shows fewer elementwise kernels with less time in all"}));
}

}  // namespace rangefinder::advice
