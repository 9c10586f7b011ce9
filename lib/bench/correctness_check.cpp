// SPDX-License-Identifier: MIT
#include "bench/correctness_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

namespace rangefinder::bench {
namespace {

const char* name_of(Checked which) {
  switch (which) {
    case Checked::kBaseline:
      return "baseline";
    case Checked::kOptimized:
      return "optimized";
    default:
      return "reference";
  }
}

Error refused(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

/// Of all ranks, short: its own of a single process.
std::string fingerprint_of_all(const std::vector<std::string>& ranks) {
  if (ranks.size() == 1) return ranks.front();
  std::string text = fmt::format("{}", fmt::join(ranks, " "));
  return fingerprint({{"ranks", ElementType::kUint8, {static_cast<std::int64_t>(text.size())}, text.data()}});
}

/// "", or "rank 2: ".
std::string front_of(std::size_t rank, std::size_t ranks) {
  return ranks > 1 ? fmt::format("rank {}: ", rank) : std::string();
}

/// Adds what a rank differs by. The first failure stays.
void add(const Difference& rank, const std::string& front, Difference& all) {
  all.elements += rank.elements;
  all.outside += rank.outside;
  all.most_absolute = std::max(all.most_absolute, rank.most_absolute);
  all.most_relative = std::max(all.most_relative, rank.most_relative);
  all.frobenius = std::max(all.frobenius, rank.frobenius);
  if (all.failure.empty() && !rank.failure.empty()) all.failure = front + rank.failure;
}

/// Which rank of the variants has different inputs; empty: none.
std::string other_inputs(const std::vector<std::string>& baseline, const std::vector<std::string>& optimized) {
  for (std::size_t rank = 0; rank < baseline.size(); ++rank) {
    if (baseline[rank] != optimized[rank])
      return fmt::format("{}the variants have different inputs: {} and {}", front_of(rank, baseline.size()),
                         baseline[rank], optimized[rank]);
  }
  return {};
}

}  // namespace

std::string size_of_check(const Benchmark& benchmark, const std::string& size) {
  return size == "gpu" && !benchmark.check_size.empty() ? benchmark.check_size : size;
}

std::string outputs_path(const std::string& path, unsigned rank, unsigned ranks) {
  return ranks > 1 ? fmt::format("{}.rank-{}", path, rank) : path;
}

std::string CorrectnessCheck::path_of(Checked which) const { return folder_ + "/" + name_of(which) + ".outputs"; }

Result<CorrectnessCheck::Fingerprints> CorrectnessCheck::fingerprints(Checked which, std::uint64_t seed,
                                                                      std::int64_t steps, std::int64_t perturb_after,
                                                                      const std::string& path) const {
  const Result<std::vector<Json>> answers =
      ask_(which, Json::object({{"do", "check"},
                                {"benchmark", benchmark_.name},
                                {"variant", name_of(which)},
                                {"device", setup_.device},
                                {"size", setup_.size},
                                {"seed", static_cast<std::int64_t>(seed)},
                                {"steps", steps},
                                {"perturb_after", perturb_after},
                                {"disk_limit", static_cast<std::int64_t>(disk_limit_ / ranks_of(which))},
                                {"file", path}}));
  if (!answers) {
    // A rank may have written what others did not come to.
    for (unsigned rank = 0; !path.empty() && rank < ranks_of(which); ++rank)
      ::unlink(outputs_path(path, rank, ranks_of(which)).c_str());
    return answers.error();
  }
  Fingerprints out;
  for (const Json& answer : *answers) {
    const JsonView found = answer;
    out.inputs.push_back(found["inputs"].text());
    out.outputs.push_back(found["outputs"].text());
    out.input_bytes += found["input_bytes"].integer();
    out.output_bytes += found["output_bytes"].integer();
  }
  return out;
}

Result<TensorFile> CorrectnessCheck::outputs(Checked which, unsigned rank) const {
  const std::string path = outputs_path(path_of(which), rank, ranks_of(which));
  Result<TensorFile> file = TensorFile::open(path);
  ::unlink(path.c_str());
  if (!file) return std::move(file).error().with_context(name_of(which));
  return file;
}

Result<std::vector<TensorFile>> CorrectnessCheck::held(Checked which, std::uint64_t seed, Fingerprints& found) const {
  Result<Fingerprints> answer = fingerprints(which, seed, benchmark_.check_steps, -1, path_of(which));
  if (!answer) return std::move(answer).error();
  found = std::move(*answer);
  std::vector<TensorFile> out;
  for (unsigned rank = 0; rank < ranks_of(which); ++rank) {
    Result<TensorFile> file = outputs(which, rank);
    if (!file) return std::move(file).error();
    out.push_back(std::move(*file));
  }
  return out;
}

Result<Difference> CorrectnessCheck::compared(Checked which, std::uint64_t seed, const std::vector<TensorFile>& against,
                                              const Tolerance& tolerance, Fingerprints& found) const {
  Result<Fingerprints> answer = fingerprints(which, seed, benchmark_.check_steps, -1, path_of(which));
  if (!answer) return std::move(answer).error();
  found = std::move(*answer);
  Difference all;
  const bool one_for_all = static_cast<bool>(benchmark_.reference.make);
  for (unsigned rank = 0; rank < ranks_; ++rank) {
    const Result<TensorFile> file = outputs(which, rank);
    if (!file) return file.error();
    const std::vector<TensorView>& expected = against[one_for_all ? 0 : rank].tensors();
    // A rank without outputs has nothing to be compared, if it is not the other's.
    if (ranks_ > 1 && file->tensors().empty() && (one_for_all || expected.empty())) continue;
    add(compare(expected, file->tensors(), tolerance), front_of(rank, ranks_), all);
  }
  if (all.elements == 0 && all.failure.empty()) all.failure = "no output to compare";
  return all;
}

Result<CorrectnessCheck::All> CorrectnessCheck::compared(std::uint64_t seed, const Tolerance& tolerance) const {
  All all;
  std::vector<TensorFile> against;
  if (benchmark_.reference.make) {
    Fingerprints of_reference;
    Result<std::vector<TensorFile>> reference = held(Checked::kReference, seed, of_reference);
    if (!reference) return std::move(reference).error();
    against = std::move(*reference);
    const Tolerance& own = setup_.device == "cuda" ? benchmark_.baseline.cuda : benchmark_.baseline.cpu;
    Result<Difference> baseline = compared(Checked::kBaseline, seed, against, own, all.baseline);
    if (!baseline) return std::move(baseline).error();
    all.baseline_difference = std::move(*baseline);
  } else {
    Result<std::vector<TensorFile>> baseline = held(Checked::kBaseline, seed, all.baseline);
    if (!baseline) return std::move(baseline).error();
    against = std::move(*baseline);
  }
  Result<Difference> optimized = compared(Checked::kOptimized, seed, against, tolerance, all.optimized);
  if (!optimized) return std::move(optimized).error();
  all.difference = std::move(*optimized);
  return all;
}

Status CorrectnessCheck::changes_with_an_input(Checked which) const {
  const std::int64_t steps = benchmark_.check_steps + 1;
  const Result<Fingerprints> plain = fingerprints(which, setup_.seed, steps, -1, "");
  if (!plain) return plain.error();
  const Result<Fingerprints> perturbed = fingerprints(which, setup_.seed, steps, steps - 1, "");
  if (!perturbed) return perturbed.error();
  if (plain->outputs != perturbed->outputs) return {};
  return refused(
      fmt::format("perturbation check: a changed input element leaves the {} output as it was", name_of(which)));
}

Status CorrectnessCheck::agree(Row& row) const {
  const Result<All> first = compared(setup_.seed, row.tolerance);
  if (!first) return first.error();
  row.inputs = fingerprint_of_all(first->baseline.inputs);
  row.input_bytes = first->baseline.input_bytes;
  row.output_bytes = first->baseline.output_bytes;
  if (std::string other = other_inputs(first->baseline.inputs, first->optimized.inputs); !other.empty())
    return refused(std::move(other));
  row.difference = first->difference;
  row.baseline_difference = first->baseline_difference;
  if (const std::string wrong = failure_of(*first); !wrong.empty()) return refused("wrong output: " + wrong);

  const Result<All> fresh = compared(setup_.seed + 1, row.tolerance);
  if (!fresh) return fresh.error();
  for (const Checked which : {Checked::kBaseline, Checked::kOptimized}) {
    const bool is_optimized = which == Checked::kOptimized;
    const Fingerprints &before = is_optimized ? first->optimized : first->baseline,
                       &after = is_optimized ? fresh->optimized : fresh->baseline;
    if (before.inputs == after.inputs)
      return refused(fmt::format("fresh-input check: the {} inputs do not depend on the seed", name_of(which)));
    if (before.outputs == after.outputs)
      return refused(fmt::format("fresh-input check: another seed leaves the {} output as it was", name_of(which)));
  }
  if (fresh->baseline.inputs != fresh->optimized.inputs)
    return refused("fresh-input check: the variants have different inputs");
  if (const std::string wrong = failure_of(*fresh); !wrong.empty())
    return refused("fresh-input check: wrong output: " + wrong);
  return {};
}

std::string CorrectnessCheck::failure_of(const All& all) {
  if (all.baseline_difference && !all.baseline_difference->failure.empty())
    return "baseline: " + all.baseline_difference->failure;
  if (all.difference.failure.empty() || !all.baseline_difference) return all.difference.failure;
  return "optimized: " + all.difference.failure;
}

Status CorrectnessCheck::run(Row& row) const {
  if (Status status = agree(row); !status.ok()) return status;
  for (const Checked which : {Checked::kBaseline, Checked::kOptimized}) {
    if (Status status = changes_with_an_input(which); !status.ok()) return status;
  }
  return {};
}

}  // namespace rangefinder::bench
