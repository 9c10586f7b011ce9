// SPDX-License-Identifier: MIT
#include "bench/correctness_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace rangefinder::bench {
namespace {

const char* variant_name(bool optimized) { return optimized ? "optimized" : "baseline"; }

Error refused(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

}  // namespace

Result<CorrectnessCheck::Outputs> CorrectnessCheck::outputs(bool optimized, std::uint64_t seed, std::int64_t steps,
                                                            std::int64_t perturb_after) const {
  const std::string path = folder_ + "/" + variant_name(optimized) + ".outputs";
  const Result<Json> answer = ask_(optimized, Json::object({{"do", "check"},
                                                            {"benchmark", benchmark_.name},
                                                            {"variant", variant_name(optimized)},
                                                            {"device", setup_.device},
                                                            {"size", setup_.size},
                                                            {"seed", static_cast<std::int64_t>(seed)},
                                                            {"steps", steps},
                                                            {"perturb_after", perturb_after},
                                                            {"file", path}}));
  if (!answer) return answer.error();
  Result<TensorFile> file = TensorFile::open(path);
  ::unlink(path.c_str());
  if (!file) return std::move(file).error().with_context(variant_name(optimized));
  return Outputs{JsonView(*answer)["inputs"].text(), std::move(*file)};
}

Status CorrectnessCheck::changes_with_an_input(bool optimized) const {
  const std::int64_t steps = benchmark_.check_steps + 1;
  const Result<Outputs> plain = outputs(optimized, setup_.seed, steps, -1);
  if (!plain) return plain.error();
  const Result<Outputs> perturbed = outputs(optimized, setup_.seed, steps, steps - 1);
  if (!perturbed) return perturbed.error();
  if (!identical(plain->file.tensors(), perturbed->file.tensors())) return {};
  return refused(fmt::format("perturbation check: a changed input element leaves the {} output as it was",
                             variant_name(optimized)));
}

Status CorrectnessCheck::agree(Row& row) const {
  std::uint64_t seed = setup_.seed;
  const Result<Outputs> baseline = outputs(false, seed, benchmark_.check_steps, -1);
  if (!baseline) return baseline.error();
  const Result<Outputs> optimized = outputs(true, seed, benchmark_.check_steps, -1);
  if (!optimized) return optimized.error();
  row.inputs = baseline->inputs;
  if (baseline->inputs != optimized->inputs)
    return refused(fmt::format("the variants have different inputs: {} and {}", baseline->inputs, optimized->inputs));
  row.difference = compare(baseline->file.tensors(), optimized->file.tensors(), row.tolerance);
  if (!row.difference.failure.empty()) return refused("wrong output: " + row.difference.failure);

  ++seed;
  const Result<Outputs> fresh_baseline = outputs(false, seed, benchmark_.check_steps, -1);
  if (!fresh_baseline) return fresh_baseline.error();
  const Result<Outputs> fresh_optimized = outputs(true, seed, benchmark_.check_steps, -1);
  if (!fresh_optimized) return fresh_optimized.error();
  for (const bool is_optimized : {false, true}) {
    const Outputs &before = is_optimized ? *optimized : *baseline,
                  &fresh = is_optimized ? *fresh_optimized : *fresh_baseline;
    if (before.inputs == fresh.inputs)
      return refused(
          fmt::format("fresh-input check: the {} inputs do not depend on the seed", variant_name(is_optimized)));
    if (identical(before.file.tensors(), fresh.file.tensors()))
      return refused(
          fmt::format("fresh-input check: another seed leaves the {} output as it was", variant_name(is_optimized)));
  }
  if (fresh_baseline->inputs != fresh_optimized->inputs)
    return refused("fresh-input check: the variants have different inputs");
  const Difference fresh = compare(fresh_baseline->file.tensors(), fresh_optimized->file.tensors(), row.tolerance);
  if (!fresh.failure.empty()) return refused("fresh-input check: wrong output: " + fresh.failure);
  return {};
}

Status CorrectnessCheck::run(Row& row) const {
  if (Status status = agree(row); !status.ok()) return status;
  for (const bool is_optimized : {false, true}) {
    if (Status status = changes_with_an_input(is_optimized); !status.ok()) return status;
  }
  return {};
}

}  // namespace rangefinder::bench
