// SPDX-License-Identifier: MIT
#include "importer/nsight/emit_nvtx.hpp"

#include "base/text.hpp"
#include "timeline/autograd_names.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <vector>

namespace rangefinder::importer::nsight {
namespace {

constexpr std::string_view kSequence = ", seq = ";
constexpr std::string_view kOperatorId = ", op_id = ";
constexpr std::string_view kSizes = ", sizes = ";
constexpr std::string_view kInputs = ", input_op_ids = ";

/// Takes `key` and the number behind it from the front; false: another number is there than it can have.
bool take_number(std::string_view& rest, std::string_view key, std::int64_t& value) noexcept {
  if (!rest.starts_with(key)) return true;
  const char* const end = rest.data() + rest.size();
  const auto [after, error] = std::from_chars(rest.data() + key.size(), end, value);
  rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
  return error == std::errc{} && value >= 0;
}

/// Lists in lists of numbers as JSON has them: "[[4, 8], []]". Exports write them as they are.
bool is_json_list(std::string_view text) noexcept {
  enum class Before { kStart, kOpen, kComma, kItem } before = Before::kStart;
  std::size_t depth = 0;
  while (!text.empty()) {
    const bool may_begin = before == Before::kOpen || before == Before::kComma;
    if (text.front() == '[' && (may_begin || before == Before::kStart)) {
      before = Before::kOpen;
      ++depth;
    } else if (text.front() == ']' && before != Before::kComma && depth != 0) {
      before = Before::kItem;
      if (--depth == 0) return text.size() == 1;
    } else if (text.starts_with(", ") && before == Before::kItem) {
      before = Before::kComma;
      text.remove_prefix(1);
    } else if (may_begin) {
      std::int64_t number = 0;
      const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc{}) return false;
      before = Before::kItem;
      text.remove_prefix(static_cast<std::size_t>(after - text.data()));
      continue;
    } else {
      return false;
    }
    text.remove_prefix(1);
  }
  return false;
}

/// Takes `key` and what is behind it: to the end, or to `until`.
std::string_view take_list(std::string_view& rest, std::string_view key, std::string_view until) noexcept {
  if (!rest.starts_with(key)) return {};
  const std::size_t end = std::min(rest.find(until, key.size()), rest.size());
  const std::string_view list = rest.substr(key.size(), end - key.size());
  rest.remove_prefix(end);
  return list;
}

std::optional<OperatorText> parse_behind(std::string_view text, std::size_t name_size) noexcept {
  OperatorText out;
  out.name = text.substr(0, name_size);
  std::string_view rest = text.substr(name_size);
  std::int64_t id = 0;
  if (!take_number(rest, kSequence, out.sequence) || !take_number(rest, kOperatorId, id)) return std::nullopt;
  out.shapes = take_list(rest, kSizes, kInputs);
  const std::string_view inputs = take_list(rest, kInputs, kInputs);
  const bool usable = rest.empty() && (out.shapes.empty() || is_json_list(out.shapes)) &&
                      inputs.find_first_not_of("0123456789-[](), ") == std::string_view::npos;
  return usable ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<OperatorText> parse_operator_text(std::string_view text) noexcept {
  for (const std::string_view key : {kSequence, kOperatorId, kSizes})
    if (const std::size_t at = text.rfind(key); at != std::string_view::npos && at != 0)
      if (const std::optional<OperatorText> parsed = parse_behind(text, at)) return parsed;
  return std::nullopt;
}

void EmitNvtx::add(std::string_view text) {
  RangeTable& ranges = timeline_.ranges;
  const std::optional<OperatorText> parsed = parse_operator_text(text);
  const auto row = static_cast<RangeIndex>(ranges.size() - 1);
  if (!parsed || ranges.style[row] != RangeStyle::kScoped) return;
  Attachment whole;
  whole.type = Attachment::Type::kText;
  whole.row = row;
  whole.bits = static_cast<std::uint64_t>(ranges.name.back());
  timeline_.attachments.push_back(whole);
  ranges.set_name(row, timeline_.intern(parsed->name));
  // Without a number it may be a record_function of the program's author: operators have a namespace.
  if (parsed->sequence < 0 && parsed->name.find("::") == std::string_view::npos) return;
  ranges.set_kind(row, RangeKind::kOperator);
  const bool is_evaluation = parsed->name.starts_with(timeline::kEvaluateNode);
  told_.push_back({parsed->sequence, row, is_evaluation ? Role::kEvaluation : Role::kOperator});
  if (options_.operator_inputs) add_inputs(row, *parsed);
}

void EmitNvtx::add_inputs(RangeIndex range, const OperatorText& text) {
  if (text.shapes.empty()) return;
  std::string shapes;
  base::append_compact_json(shapes, text.shapes);
  timeline_.operators.append({.range = range, .sequence = text.sequence, .shapes = timeline_.intern(shapes)});
}

void EmitNvtx::sort_told() {
  const RangeTable& ranges = timeline_.ranges;
  std::sort(told_.begin(), told_.end(), [&](const Told& a, const Told& b) {
    return std::tie(ranges.thread[a.range], ranges.begin_ns[a.range], ranges.end_ns[b.range], a.range) <
           std::tie(ranges.thread[b.range], ranges.begin_ns[b.range], ranges.end_ns[a.range], b.range);
  });
}

bool EmitNvtx::is_node(const Told& told, const Told* around, bool is_evaluated) const {
  const std::string_view name = timeline_.text(timeline_.ranges.name[told.range]);
  if (around != nullptr && around->role == Role::kEvaluation)
    return name == timeline_.text(timeline_.ranges.name[around->range]).substr(timeline::kEvaluateNode.size());
  if (is_evaluated) return false;
  return told.sequence < 0 ? timeline::is_gradient_accumulation(name) : timeline::is_node_name(name);
}

void EmitNvtx::find_nodes() {
  const RangeTable& ranges = timeline_.ranges;
  struct Open {
    std::size_t told;
    bool is_evaluated;  // it is, or something around it is
  };
  std::vector<Open> open;  // what encloses the next, innermost last
  for (std::size_t i = 0; i < told_.size(); ++i) {
    Told& told = told_[i];
    const auto encloses = [&](RangeIndex outer) {
      return ranges.thread[outer] == ranges.thread[told.range] && ranges.end_ns[outer] >= ranges.end_ns[told.range];
    };
    while (!open.empty() && !encloses(told_[open.back().told].range)) open.pop_back();
    Told* const around = open.empty() ? nullptr : &told_[open.back().told];
    const bool is_evaluated = !open.empty() && open.back().is_evaluated;
    if (told.role == Role::kOperator && is_node(told, around, is_evaluated)) {
      told.role = Role::kNode;
      if (around != nullptr && around->role == Role::kEvaluation) around->sequence = told.sequence;
    }
    open.push_back({i, is_evaluated || told.role == Role::kEvaluation});
  }
}

void EmitNvtx::finish() {
  sort_told();
  find_nodes();
  for (const Told& told : told_) {
    if (told.role == Role::kOperator)
      makers_.add_operator(told.range, told.sequence);
    else
      makers_.add_node(told.range, told.sequence, timeline::NodeMakers::kNotSaid);
  }
  told_.clear();
  makers_.finish();
}

}  // namespace rangefinder::importer::nsight
