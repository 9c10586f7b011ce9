// SPDX-License-Identifier: MIT
#include "bench/correctness_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace rangefinder::bench {
namespace {

const char* variant_name(bool optimized) { return optimized ? "optimized" : "baseline"; }

Error refused(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

}  // namespace

std::string size_of_check(const Benchmark& benchmark, const std::string& size) {
  return size == "gpu" && !benchmark.check_size.empty() ? benchmark.check_size : size;
}

Result<CorrectnessCheck::Fingerprints> CorrectnessCheck::fingerprints(bool optimized, std::uint64_t seed,
                                                                      std::int64_t steps, std::int64_t perturb_after,
                                                                      const std::string& path) const {
  const Result<Json> answer = ask_(optimized, Json::object({{"do", "check"},
                                                            {"benchmark", benchmark_.name},
                                                            {"variant", variant_name(optimized)},
                                                            {"device", setup_.device},
                                                            {"size", setup_.size},
                                                            {"seed", static_cast<std::int64_t>(seed)},
                                                            {"steps", steps},
                                                            {"perturb_after", perturb_after},
                                                            {"disk_limit", static_cast<std::int64_t>(disk_limit_)},
                                                            {"file", path}}));
  if (!answer) return answer.error();
  const JsonView found = *answer;
  return Fingerprints{found["inputs"].text(), found["outputs"].text(), found["input_bytes"].integer(),
                      found["output_bytes"].integer()};
}

Result<TensorFile> CorrectnessCheck::outputs(bool optimized, std::uint64_t seed, Fingerprints& found) const {
  const std::string path = folder_ + "/" + variant_name(optimized) + ".outputs";
  Result<Fingerprints> answer = fingerprints(optimized, seed, benchmark_.check_steps, -1, path);
  if (!answer) return std::move(answer).error();
  found = std::move(*answer);
  Result<TensorFile> file = TensorFile::open(path);
  ::unlink(path.c_str());
  if (!file) return std::move(file).error().with_context(variant_name(optimized));
  return file;
}

Result<CorrectnessCheck::Both> CorrectnessCheck::compared(std::uint64_t seed, const Tolerance& tolerance) const {
  Both both;
  const Result<TensorFile> baseline = outputs(false, seed, both.baseline);
  if (!baseline) return baseline.error();
  const Result<TensorFile> optimized = outputs(true, seed, both.optimized);
  if (!optimized) return optimized.error();
  both.difference = compare(baseline->tensors(), optimized->tensors(), tolerance);
  return both;
}

Status CorrectnessCheck::changes_with_an_input(bool optimized) const {
  const std::int64_t steps = benchmark_.check_steps + 1;
  const Result<Fingerprints> plain = fingerprints(optimized, setup_.seed, steps, -1, "");
  if (!plain) return plain.error();
  const Result<Fingerprints> perturbed = fingerprints(optimized, setup_.seed, steps, steps - 1, "");
  if (!perturbed) return perturbed.error();
  if (plain->outputs != perturbed->outputs) return {};
  return refused(fmt::format("perturbation check: a changed input element leaves the {} output as it was",
                             variant_name(optimized)));
}

Status CorrectnessCheck::agree(Row& row) const {
  const Result<Both> first = compared(setup_.seed, row.tolerance);
  if (!first) return first.error();
  row.inputs = first->baseline.inputs;
  row.input_bytes = first->baseline.input_bytes;
  row.output_bytes = first->baseline.output_bytes;
  if (first->baseline.inputs != first->optimized.inputs)
    return refused(
        fmt::format("the variants have different inputs: {} and {}", first->baseline.inputs, first->optimized.inputs));
  row.difference = first->difference;
  if (!row.difference.failure.empty()) return refused("wrong output: " + row.difference.failure);

  const Result<Both> fresh = compared(setup_.seed + 1, row.tolerance);
  if (!fresh) return fresh.error();
  for (const bool is_optimized : {false, true}) {
    const Fingerprints &before = is_optimized ? first->optimized : first->baseline,
                       &after = is_optimized ? fresh->optimized : fresh->baseline;
    if (before.inputs == after.inputs)
      return refused(
          fmt::format("fresh-input check: the {} inputs do not depend on the seed", variant_name(is_optimized)));
    if (before.outputs == after.outputs)
      return refused(
          fmt::format("fresh-input check: another seed leaves the {} output as it was", variant_name(is_optimized)));
  }
  if (fresh->baseline.inputs != fresh->optimized.inputs)
    return refused("fresh-input check: the variants have different inputs");
  if (const std::string& failure = fresh->difference.failure; !failure.empty())
    return refused("fresh-input check: wrong output: " + failure);
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
