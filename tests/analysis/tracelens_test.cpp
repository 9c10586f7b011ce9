// SPDX-License-Identifier: MIT
// FLOPs and bytes of the operators of real traces against those that TraceLens computed of the same traces. Each
// difference has a class with a rule; docs/reference/operator-flops.md tells why.
#include "analysis/operator_flops.hpp"
#include "support/catch.hpp"
#include "support/csv_records.hpp"
#include "support/files.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

using Record = std::map<std::string, std::string>;

/// An operator and its inputs. Values too: they tell masks.
struct Call {
  std::string name, shapes, types, values;
  auto operator<=>(const Call&) const = default;
};

/// `['', '1']` of Python is `["","1"]`. A type may have a space in it: "long int".
std::string as_json(const std::string& text) {
  std::string out;
  for (const char each : text)
    if (each != ' ' || (!out.empty() && out.back() != ',')) out += each == '\'' ? '"' : each;
  return out;
}

struct Figures {
  std::optional<std::uint64_t> flops;
  std::uint64_t bytes = 0;
};

Figures figures_of(const Call& call) {
  return {analysis::operator_flops(call.name, call.shapes, call.values),
          analysis::operator_bytes(call.name, call.shapes, call.types, call.values)};
}

std::set<Call> calls_of(const Timeline& timeline) {
  std::set<Call> out;
  const OperatorTable& operators = timeline.operators;
  const auto text = [&](StringId id) { return std::string(timeline.text(id)); };
  for (std::size_t row = 0; row < operators.size(); ++row)
    out.insert({text(timeline.ranges.name[operators.range[row]]), as_json(text(operators.shapes[row])),
                as_json(text(operators.types[row])), as_json(text(operators.values[row]))});
  return out;
}

Call call_of(const Record& record) {
  return {record.at("name"), as_json(record.at("Input Dims_first")), as_json(record.at("Input type_first")),
          as_json(record.at("Concrete Inputs_first"))};
}

std::uint64_t number(const Record& record, const char* column, double unit) {
  return static_cast<std::uint64_t>(std::llround(std::atof(record.at(column).c_str()) * unit));
}

std::uint64_t parameter(const Record& record, const char* name) {
  const auto found = record.find(std::string("param: ") + name);
  return found == record.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
}

/// The numbers of the list that begins at the n-th bracket.
std::vector<std::int64_t> numbers_of(const std::string& text, int bracket) {
  std::size_t at = 0;
  for (; bracket >= 0; --bracket) at = text.find('[', at) + 1;
  std::vector<std::int64_t> numbers;
  for (const char* next = text.c_str() + at; *next != ']' && *next != 0;) {
    char* end = nullptr;
    numbers.push_back(std::strtoll(next, &end, 10));
    next = *end == ',' ? end + 1 : end;
  }
  return numbers;
}

std::uint64_t product(const std::vector<std::int64_t>& numbers) {
  std::uint64_t product = 1;
  for (const std::int64_t number : numbers) product *= static_cast<std::uint64_t>(number);
  return product;
}

/// Why our FLOPs are not TraceLens's; "equal" where they are, empty where no rule explains the difference.
std::string class_of(const Record& record, const Figures& ours, std::uint64_t theirs) {
  const std::string& name = record.at("name");
  if (!name.starts_with("aten::")) return ours.flops || ours.bytes != 0 ? "" : "not PyTorch's operator";
  if (!ours.flops) return "";
  if (*ours.flops == theirs) return "equal";
  // A bias is added to each output.
  if (name == "aten::addmm" && theirs == *ours.flops + parameter(record, "M") * parameter(record, "N"))
    return "bias counted";
  // Half of all pairs of S queries and S keys, S * S / 2; the mask leaves S * (S + 1) / 2.
  const std::uint64_t queries = parameter(record, "N_Q");
  if (record.count("param: causal") != 0 && record.at("param: causal") == "True" &&
      queries == parameter(record, "N_KV") && *ours.flops / (queries + 1) * queries == theirs)
    return "diagonal halved";
  return "";
}

/// Why our bytes are not TraceLens's; "equal" where they are, empty where no rule explains the difference.
std::string class_of_bytes(const Record& record, const Figures& ours, std::uint64_t theirs) {
  const std::string& name = record.at("name");
  if (!name.starts_with("aten::")) return ours.bytes == 0 ? "not PyTorch's operator" : "";
  if (record.at("Data Moved (MB)_first").empty()) return "TraceLens has none";  // of bool
  if (ours.bytes == theirs) return "equal";
  const std::vector<std::int64_t> input = numbers_of(as_json(record.at("Input Dims_first")), 1);
  const std::uint64_t elements = product(input);
  // Six values a channel, as a batch norm in training has; a layer norm has its parameters, and a mean and a deviation
  // for each row.
  const std::uint64_t channels = parameter(record, "num_channels");
  if (channels != 0 && theirs == 2 * (2 * elements + 6 * channels) &&
      ours.bytes == 2 * (2 * elements + 2 * channels) + 2 * 4 * (elements / channels))
    return "layer norm as batch norm";
  // Over the last dimension; TraceLens takes all dimensions.
  if (name == "aten::mean" && theirs == 4 * (elements + 1) &&
      ours.bytes == 4 * (elements + elements / static_cast<std::uint64_t>(input.back())))
    return "reduced as a whole";
  return "";
}

/// Calls `use(kind, record, ours)` for each row that TraceLens computed of operators of these kinds.
template <typename Use>
void for_each_row(const std::vector<std::string>& kinds, Use use) {
  for (const std::string trace :
       {"h100_Qwen_Qwen1.5-0.5B-Chat", "h100_gaunernst_bert-small-uncased", "mi300_gaunernst_bert-small-uncased",
        "torch_compile_triton", "vllm_decode_fullgraph_exec_mi300"}) {
    LoadOptions load;
    load.operator_inputs = true;
    const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + trace + ".json.gz"), load);
    REQUIRE(timeline);
    const std::set<Call> calls = calls_of(*timeline);
    for (const std::string& kind : kinds) {
      const std::string path = shared_file("data/tracelens/" + trace + "/" + kind + ".csv");
      if (path.empty()) continue;
      for (const Record& record : csv_records(read_file(path))) {
        const Call call = call_of(record);
        CAPTURE(trace, kind, call.name, call.shapes, call.types, call.values);
        // Of vLLM TraceLens looked into the trace of the capture too, from which this one replays graphs.
        CHECK((calls.count(call) != 0 || trace.starts_with("vllm")));
        use(kind, record, figures_of(call));
      }
    }
  }
}

}  // namespace

TEST_CASE("FLOPs and bytes of real traces are TraceLens's, or differ for a known reason", "[analysis][data]") {
  if (shared_file("data/tracelens").empty()) RANGEFINDER_SKIP("no figures of TraceLens (RANGEFINDER_SHARED)");
  std::map<std::string, int> classes;
  std::map<std::string, int> rows;
  int equal_bytes = 0;
  for_each_row({"GEMM", "SDPA_fwd", "CONV_fwd", "InferenceAttention_fwd"},
               [&](const std::string& kind, const Record& record, const Figures& ours) {
                 const std::uint64_t flops = number(record, "GFLOPS_first", 1e9);
                 const std::uint64_t bytes = number(record, "Data Moved (MB)_first", 1024 * 1024);
                 CAPTURE(flops, ours.flops.value_or(0), bytes, ours.bytes);
                 const std::string why = class_of(record, ours, flops);
                 CHECK_FALSE(why.empty());
                 ++classes[why];
                 ++rows[kind];
                 if (why == "not PyTorch's operator") return;
                 CHECK(ours.bytes == bytes);
                 ++equal_bytes;
               });
  CHECK(rows == std::map<std::string, int>{{"GEMM", 24}, {"InferenceAttention_fwd", 2}, {"SDPA_fwd", 4}});
  CHECK(classes == std::map<std::string, int>{
                       {"bias counted", 12}, {"diagonal halved", 1}, {"equal", 11}, {"not PyTorch's operator", 6}});
  CHECK(equal_bytes == 24);
}

TEST_CASE("bytes of operators that are a matter of memory are TraceLens's, or differ for a known reason",
          "[analysis][data]") {
  if (shared_file("data/tracelens").empty()) RANGEFINDER_SKIP("no figures of TraceLens (RANGEFINDER_SHARED)");
  using Classes = std::map<std::string, int>;
  std::map<std::string, Classes> tables;
  for_each_row(
      {"UnaryElementwise", "BinaryElementwise", "Normalization", "RMSNorm_fwd", "Reduce_fwd", "MoE_unfused_fwd"},
      [&](const std::string& kind, const Record& record, const Figures& ours) {
        const std::uint64_t bytes = number(record, "Data Moved (MB)_first", 1024 * 1024);
        CAPTURE(bytes, ours.bytes);
        const std::string why = class_of_bytes(record, ours, bytes);
        CHECK_FALSE(why.empty());
        ++tables[kind][why];
      });
  for (const auto& [kind, classes] : tables) {
    int rows = 0;
    for (const auto& [why, count] : classes) rows += count;
    std::printf("TraceLens %s: %d rows", kind.c_str(), rows);
    for (const auto& [why, count] : classes) std::printf(", %d %s", count, why.c_str());
    std::printf("\n");
  }
  CHECK(tables["UnaryElementwise"] == Classes{{"TraceLens has none", 1}, {"equal", 16}});
  CHECK(tables["BinaryElementwise"] == Classes{{"equal", 13}});
  CHECK(tables["Normalization"] == Classes{{"layer norm as batch norm", 4}});
  CHECK(tables["RMSNorm_fwd"] == Classes{{"not PyTorch's operator", 3}});
  CHECK(tables["Reduce_fwd"] == Classes{{"reduced as a whole", 1}});
  CHECK(tables["MoE_unfused_fwd"] == Classes{{"not PyTorch's operator", 2}});
}
