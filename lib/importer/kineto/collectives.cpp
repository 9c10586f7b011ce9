// SPDX-License-Identifier: MIT
#include "importer/kineto/collectives.hpp"

#include "base/descending.hpp"
#include "base/scaled_decimal.hpp"
#include "importer/kineto/json_text.hpp"
#include "timeline/collectives.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace rangefinder::importer::kineto {
namespace {

constexpr std::string_view kParametersName = "record_param_comms";

/// Arguments of a collective, as they stand in the text: of strings what is between the quotes.
struct Arguments {
  std::string_view name, dtype, group_name, group_description, group_ranks, in_splits, out_splits, shapes, types;
  std::optional<std::int64_t> in, out, group_size, first_rank, rank_stride, number, source, target;

  std::string_view* text(std::string_view key) noexcept {
    if (key == "Collective name") return &name;
    if (key == "dtype") return &dtype;
    if (key == "Process Group Name") return &group_name;
    if (key == "Process Group Description") return &group_description;
    if (key == "Process Group Ranks") return &group_ranks;
    if (key == "In split size") return &in_splits;
    if (key == "Out split size") return &out_splits;
    if (key == "Input Dims" || key == "Input dims") return &shapes;
    if (key == "Input type") return &types;
    return nullptr;
  }
  std::optional<std::int64_t>* integer(std::string_view key) noexcept {
    if (key == "In msg nelems") return &in;
    if (key == "Out msg nelems") return &out;
    if (key == "Group size") return &group_size;
    if (key == "Global rank start") return &first_rank;
    if (key == "Global rank stride") return &rank_stride;
    if (key == "Seq") return &number;
    if (key == "Src Rank") return &source;
    if (key == "Dst Rank") return &target;
    return nullptr;
  }
};

Arguments arguments_of(const Event& event, std::string& scratch) {
  Arguments out;
  if (event.arguments_at == nullptr) return out;
  Cursor cursor{event.arguments_at, event.json.data() + event.json.size(), ""};
  const char* at = cursor.at;
  for_each_member(cursor, at, [&](const RawText& key, const char*& value) {
    const char* const begin = value;
    const Scan scan = skip_value(cursor, value, 0);
    std::string_view token(begin, static_cast<std::size_t>(value - begin));
    while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
    if (token.size() > 1 && token.front() == '"') token = token.substr(1, token.size() - 2);
    const std::string_view name = meaning(key, scratch);
    if (std::string_view* const text = out.text(name)) *text = token;
    if (std::optional<std::int64_t>* const integer = out.integer(name)) {
      const base::ScaledDecimal number = base::scaled_decimal(token, 0);
      if (number.valid && !number.rounded) *integer = number.value;
    }
    return scan;
  });
  return out;
}

/// The numbers of "[0, 1, 2]"; nothing for what is no such list ("[0, 1, ..., 1023]").
std::optional<std::vector<std::int64_t>> numbers_of(std::string_view list) {
  if (list.size() < 2 || list.front() != '[' || list.back() != ']') return std::nullopt;
  list = list.substr(1, list.size() - 2);
  std::vector<std::int64_t> numbers;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view token = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    while (!token.empty() && is_space(token.front())) token.remove_prefix(1);
    while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
    const base::ScaledDecimal number = base::scaled_decimal(token, 0);
    if (!number.valid || number.rounded) return std::nullopt;
    numbers.push_back(number.value);
  }
  return numbers;
}

/// Its members; where the list was cut short, by where it begins and its stride.
std::vector<std::int64_t> ranks_of(const Arguments& arguments) {
  constexpr std::int64_t kMaxRanks = 1 << 20;
  if (auto ranks = numbers_of(arguments.group_ranks)) return std::move(*ranks);
  const std::int64_t size = arguments.group_size.value_or(0), stride = arguments.rank_stride.value_or(0);
  std::vector<std::int64_t> ranks;
  if (!arguments.first_rank || *arguments.first_rank < 0 || *arguments.first_rank > kMaxRanks || stride < 1 ||
      stride > kMaxRanks || size < 1 || size > kMaxRanks)
    return ranks;
  for (std::int64_t i = 0; i < size; ++i) ranks.push_back(*arguments.first_rank + i * stride);
  return ranks;
}

/// How many elements the inputs have, by "[[6144], [3, 2], []]": of each one that is a tensor, and of tensors in lists.
class Shapes {
 public:
  explicit Shapes(std::string_view text) : text_(text) {
    if (!text_.empty() && text_.front() == '[') read_list(0);
  }
  /// Of input `i`; -1: no tensor.
  std::int64_t elements(std::size_t i) const noexcept { return i < inputs_.size() ? inputs_[i] : -1; }

 private:
  static constexpr int kMaxDepth = 3;

  /// A list of inputs at depth 0, of an input's dimensions or tensors at 1, of such a tensor's dimensions at 2. Gives
  /// the elements of what is inside.
  std::int64_t read_list(int depth) {
    ++at_;  // the bracket
    std::int64_t product = 1, sum = 0;
    bool has_numbers = false, has_lists = false;
    while (at_ < text_.size() && text_[at_] != ']') {
      const char c = text_[at_];
      if (c == '[' && depth < kMaxDepth) {
        const std::int64_t inner = read_list(depth + 1);
        if (depth == 0) inputs_.push_back(inner);
        if (inner >= 0 && !__builtin_add_overflow(sum, inner, &sum)) has_lists = true;
      } else if (c >= '0' && c <= '9') {
        std::int64_t number = 0;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
          if (__builtin_mul_overflow(number, std::int64_t{10}, &number) ||
              __builtin_add_overflow(number, std::int64_t{text_[at_++] - '0'}, &number))
            return -1;
        has_numbers = true;
        if (__builtin_mul_overflow(product, number, &product)) return -1;
      } else {
        ++at_;
      }
    }
    ++at_;
    return has_numbers ? product : has_lists ? sum : -1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::int64_t> inputs_;
};

/// The type of input `i` of ["float", "long int", "Scalar"].
std::string_view type_of(std::string_view list, std::size_t i) noexcept {
  std::size_t at = 0;
  while (true) {
    const std::size_t open = list.find('"', at);
    const std::size_t close = open == std::string_view::npos ? open : list.find('"', open + 1);
    if (close == std::string_view::npos) return {};
    if (i-- == 0) return list.substr(open + 1, close - open - 1);
    at = close + 1;
  }
}

/// Which inputs of the dispatcher's operator are what is received and what is sent.
struct Places {
  std::size_t out, in;
};
Places places_of(std::string_view operator_name, CollectiveKind kind) noexcept {
  const bool both = operator_name.find("base") != std::string_view::npos || kind == CollectiveKind::kAllToAll ||
                    operator_name.find("allgather_") != std::string_view::npos;
  return both ? Places{0, 1} : Places{0, 0};
}

/// What `more` tells and `facts` does not.
void complete(CollectiveFacts& facts, const CollectiveFacts& more) {
  const auto take = [](auto& to, const auto& from, const auto& unknown) {
    if (to == unknown) to = from;
  };
  take(facts.kind, more.kind, CollectiveKind::kOther);
  take(facts.name, more.name, StringId::kEmpty);
  take(facts.group, more.group, ProcessGroupIndex(kNone));
  take(facts.number, more.number, std::int64_t{-1});
  take(facts.elements_in, more.elements_in, std::int64_t{-1});
  take(facts.elements_out, more.elements_out, std::int64_t{-1});
  take(facts.dtype, more.dtype, StringId::kEmpty);
  take(facts.peer, more.peer, std::int32_t{-1});
  take(facts.in_splits, more.in_splits, StringId::kEmpty);
  take(facts.out_splits, more.out_splits, StringId::kEmpty);
}

}  // namespace

Collectives::Slice Collectives::slice_of(std::string_view name) noexcept {
  switch (name.empty() ? '\0' : name.front()) {
    case 'c':
      return name.starts_with("c10d::") ? Slice::kDispatcher : Slice::kNone;
    case 'r':
      return name == kParametersName ? Slice::kParameters : name.starts_with("rccl:") ? Slice::kBackend : Slice::kNone;
    case 'n':
      return name.starts_with("nccl:") ? Slice::kBackend : Slice::kNone;
    case 'u':
      return name.starts_with("ucc:") ? Slice::kBackend : Slice::kNone;
    case 'g':
      return name.starts_with("gloo:") ? Slice::kOnWorker : Slice::kNone;
    default:
      return Slice::kNone;
  }
}

CollectiveFacts Collectives::facts_of(const Event& event, Slice slice) {
  const Arguments arguments = arguments_of(event, scratch_);
  CollectiveFacts facts;
  const std::string_view name =
      slice == Slice::kParameters || slice == Slice::kNone ? arguments.name : event.name.bytes;
  facts.kind = timeline::collective_kind(name);
  facts.name = timeline_.intern(name);
  facts.number = std::max<std::int64_t>(arguments.number.value_or(-1), -1);
  if (!arguments.name.empty()) {
    facts.elements_in = std::max<std::int64_t>(arguments.in.value_or(-1), -1);
    facts.elements_out = std::max<std::int64_t>(arguments.out.value_or(-1), -1);
    facts.dtype = timeline_.intern(arguments.dtype);
    for (const auto& [list, place] :
         {std::pair(arguments.in_splits, &facts.in_splits), std::pair(arguments.out_splits, &facts.out_splits)})
      if (list.size() > 2) *place = timeline_.intern(list);
    const std::int64_t peer =
        facts.kind == CollectiveKind::kReceive ? arguments.source.value_or(-1) : arguments.target.value_or(-1);
    if (peer >= 0 && peer <= std::numeric_limits<std::int32_t>::max()) facts.peer = static_cast<std::int32_t>(peer);
  } else if (slice != Slice::kParameters && !arguments.shapes.empty()) {
    const Shapes shapes(arguments.shapes);
    const Places places = slice == Slice::kDispatcher ? places_of(event.name.bytes, facts.kind) : Places{0, 0};
    facts.elements_in = shapes.elements(places.in);
    if (slice == Slice::kDispatcher) facts.elements_out = shapes.elements(places.out);
    if (facts.elements_in >= 0) {
      const std::string_view type = type_of(arguments.types, places.in);
      if (timeline::element_bytes(type) != 0) facts.dtype = timeline_.intern(type);
    }
  }
  if (!arguments.group_name.empty()) {
    ProcessGroupInfo group;
    group.name = arguments.group_name;
    group.description = arguments.group_description;
    group.ranks = ranks_of(arguments);
    group.size = static_cast<std::int32_t>(std::clamp<std::int64_t>(arguments.group_size.value_or(0), 0, INT32_MAX));
    facts.group = timeline::add_process_group(timeline_, group);
  }
  return facts;
}

void Collectives::add_slice(const Event& event, ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) {
  const Slice slice = slice_of(event.name.bytes);
  if (slice == Slice::kNone) return;
  told_.push_back({slice, thread, begin_ns, end_ns, facts_of(event, slice)});
}

void Collectives::add_kernel(const Event& event, ActivityIndex activity) {
  const std::string_view name = event.name.bytes;
  if (!name.starts_with("nccl") && !name.starts_with("rccl") && !name.starts_with("void nccl")) return;
  CollectiveFacts facts = facts_of(event, Slice::kNone);
  if (facts.name != StringId::kEmpty) kernels_.emplace_back(activity, facts);
}

void Collectives::append(const Told& outer, const CollectiveFacts& facts) {
  timeline_.collectives.append({.kind = facts.kind,
                                .name = facts.name,
                                .process = timeline_.threads[outer.thread].process,
                                .group = facts.group,
                                .number = facts.number,
                                .elements_in = facts.elements_in,
                                .elements_out = facts.elements_out,
                                .dtype = facts.dtype,
                                .peer = facts.peer,
                                .in_splits = facts.in_splits,
                                .out_splits = facts.out_splits,
                                .thread = outer.thread,
                                .begin_ns = outer.begin_ns,
                                .end_ns = outer.end_ns});
}

/// A row for each slice that is in no other of them, with what those inside it tell. What record_param_comms tells
/// counts most. One that stands alone and does not say what it is, is no collective (a wait, in torch before 2.2).
void Collectives::add_calls() {
  std::stable_sort(told_.begin(), told_.end(), [](const Told& a, const Told& b) {
    return std::tuple(std::uint32_t{a.thread}, a.begin_ns, base::Descending{a.end_ns}) <
           std::tuple(std::uint32_t{b.thread}, b.begin_ns, base::Descending{b.end_ns});
  });
  for (std::size_t first = 0; first < told_.size();) {
    const Told& outer = told_[first];
    std::size_t last = first + 1;
    while (last < told_.size() && told_[last].thread == outer.thread && told_[last].begin_ns < outer.end_ns) ++last;
    CollectiveFacts facts;
    for (const Slice wanted : {Slice::kParameters, Slice::kBackend, Slice::kDispatcher})
      for (std::size_t i = first; i < last; ++i)
        if (told_[i].slice == wanted) complete(facts, told_[i].facts);
    if (outer.slice != Slice::kOnWorker && facts.kind != CollectiveKind::kOther) append(outer, facts);
    first = last;
  }
}

/// Gloo begins what was called in the order of the calls, on threads of its own.
void Collectives::add_work_of_gloo() {
  std::vector<const Told*> work;
  for (const Told& told : told_)
    if (told.slice == Slice::kOnWorker) work.push_back(&told);
  std::stable_sort(work.begin(), work.end(), [](const Told* a, const Told* b) { return a->begin_ns < b->begin_ns; });
  CollectiveTable& table = timeline_.collectives;
  table.sort();
  std::size_t next = 0;
  for (const Told* const told : work) {
    // Gloo's reduce-scatter is an all-reduce of all parts.
    const auto is_work_of = [&](CollectiveIndex row) {
      const CollectiveKind kind = table.kind[row];
      return kind == told->facts.kind ||
             (kind == CollectiveKind::kReduceScatter && told->facts.kind == CollectiveKind::kAllReduce);
    };
    std::size_t at = next;
    while (at < table.size() && table.begin_ns[at] <= told->begin_ns && !is_work_of(CollectiveIndex(at))) ++at;
    if (at == table.size() || table.begin_ns[at] > told->begin_ns) continue;  // its call is not in the trace
    CollectiveRow row = table.row(at);
    row.started_ns = told->begin_ns;
    row.completed_ns = told->end_ns;
    CollectiveFacts facts;
    facts.elements_in = row.elements_in;
    facts.dtype = row.dtype;
    complete(facts, told->facts);
    row.elements_in = facts.elements_in;
    row.dtype = facts.dtype;
    table.set(at, row);
    next = at + 1;
  }
}

void Collectives::finish() {
  add_calls();
  add_work_of_gloo();
  timeline::join_collectives(timeline_);
  CollectiveTable& table = timeline_.collectives;
  for (const auto& [activity, facts] : kernels_) {
    const CollectiveIndex row = timeline_.activities.collective[activity];
    if (row == kNone || table.thread[row] != kNone) continue;  // its call told as much
    CollectiveRow known = table.row(row);
    known.source = CollectiveSource::kC10d;
    known.kind = facts.kind != CollectiveKind::kOther ? facts.kind : known.kind;
    known.name = facts.name;
    known.group = facts.group;
    known.number = facts.number;
    known.elements_in = facts.elements_in;
    known.elements_out = facts.elements_out;
    known.dtype = facts.dtype;
    known.peer = facts.peer;
    known.in_splits = facts.in_splits;
    known.out_splits = facts.out_splits;
    table.set(row, known);
  }
}

}  // namespace rangefinder::importer::kineto
