// SPDX-License-Identifier: MIT
#include "bench/verify.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace rangefinder::bench {
namespace {

const char* side_name(bool optimized) { return optimized ? "optimized" : "baseline"; }

Error refused(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

}  // namespace

Result<Verifier::Outputs> Verifier::outputs(bool optimized, std::uint64_t seed, std::int64_t steps,
                                            std::int64_t perturb_after) const {
  const std::string path = folder_ + "/" + side_name(optimized) + ".outputs";
  const Result<Json> answer = ask_(optimized, Json::object({{"do", "verify"},
                                                            {"pair", pair_.name},
                                                            {"side", side_name(optimized)},
                                                            {"device", setup_.device},
                                                            {"size", setup_.size},
                                                            {"seed", static_cast<std::int64_t>(seed)},
                                                            {"steps", steps},
                                                            {"perturb_after", perturb_after},
                                                            {"file", path}}));
  if (!answer) return answer.error();
  Result<TensorFile> file = TensorFile::open(path);
  ::unlink(path.c_str());
  if (!file) return std::move(file).error().with_context(side_name(optimized));
  return Outputs{JsonView(*answer)["inputs"].text(), std::move(*file)};
}

Status Verifier::changes_with_an_input(bool optimized) const {
  const std::int64_t steps = pair_.verify_steps + 1;
  const Result<Outputs> plain = outputs(optimized, setup_.seed, steps, -1);
  if (!plain) return plain.error();
  const Result<Outputs> perturbed = outputs(optimized, setup_.seed, steps, steps - 1);
  if (!perturbed) return perturbed.error();
  if (!identical(plain->file.tensors(), perturbed->file.tensors())) return {};
  return refused(
      fmt::format("perturbation check: a changed input element leaves the {} output as it was", side_name(optimized)));
}

Status Verifier::agree(Row& row) const {
  std::uint64_t seed = setup_.seed;
  const Result<Outputs> baseline = outputs(false, seed, pair_.verify_steps, -1);
  if (!baseline) return baseline.error();
  const Result<Outputs> optimized = outputs(true, seed, pair_.verify_steps, -1);
  if (!optimized) return optimized.error();
  row.inputs = baseline->inputs;
  if (baseline->inputs != optimized->inputs)
    return refused(fmt::format("the sides have different inputs: {} and {}", baseline->inputs, optimized->inputs));
  row.difference = compare(baseline->file.tensors(), optimized->file.tensors(), row.tolerance);
  if (!row.difference.failure.empty()) return refused("wrong output: " + row.difference.failure);

  ++seed;
  const Result<Outputs> fresh_baseline = outputs(false, seed, pair_.verify_steps, -1);
  if (!fresh_baseline) return fresh_baseline.error();
  const Result<Outputs> fresh_optimized = outputs(true, seed, pair_.verify_steps, -1);
  if (!fresh_optimized) return fresh_optimized.error();
  for (const bool side : {false, true}) {
    const Outputs &before = side ? *optimized : *baseline, &fresh = side ? *fresh_optimized : *fresh_baseline;
    if (before.inputs == fresh.inputs)
      return refused(fmt::format("fresh-input check: the {} inputs do not depend on the seed", side_name(side)));
    if (identical(before.file.tensors(), fresh.file.tensors()))
      return refused(fmt::format("fresh-input check: another seed leaves the {} output as it was", side_name(side)));
  }
  if (fresh_baseline->inputs != fresh_optimized->inputs)
    return refused("fresh-input check: the sides have different inputs");
  const Difference fresh = compare(fresh_baseline->file.tensors(), fresh_optimized->file.tensors(), row.tolerance);
  if (!fresh.failure.empty()) return refused("fresh-input check: wrong output: " + fresh.failure);
  return {};
}

Status Verifier::verify(Row& row) const {
  if (Status status = agree(row); !status.ok()) return status;
  for (const bool side : {false, true}) {
    if (Status status = changes_with_an_input(side); !status.ok()) return status;
  }
  return {};
}

}  // namespace rangefinder::bench
