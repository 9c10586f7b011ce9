// SPDX-License-Identifier: MIT
#include "report/views/instances.hpp"

#include "analysis/range_rollup.hpp"
#include "report/find_column.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/pass_columns.hpp"
#include "report/views/range_paths.hpp"

#include <rangefinder/detail/wrapping.hpp>

#include <algorithm>
#include <utility>

namespace rangefinder::report {
namespace {

/// "main 4711"; traces of torch.profiler have the number in the name.
std::string numbered_name(const ThreadInfo& thread) {
  const std::string number = std::to_string(thread.tid);
  if (thread.name.find(number) != std::string::npos) return thread.name;
  return thread.name.empty() ? number : thread.name + " " + number;
}

ColumnsOf<RangeInstance> instance_columns(const Timeline& timeline, const analysis::RecordingFacts& facts) {
  using Row = RangeInstance;
  ColumnsOf<Row> columns(timeline);
  const auto if_busy = [](auto get) {
    return [get](const Row& row) { return figure_of(row.all.gpu_ops != 0 ? &row.all : nullptr, get); };
  };
  const auto thread = [&timeline](const Row& row) { return numbered_name(timeline.threads[row.place.thread]); };
  const auto idle = [](const DeviceFigures& all) {
    return std::max<std::int64_t>(0, detail::minus(all.gpu_span_ns(), all.any_busy_ns));
  };
  const auto launch_delay = [](const Row& row) { return common::mean(row.all.launch_delay_ns, row.all.gpu_ops); };
  columns.path("Range", &Row::path);
  columns.text("Thread", thread);
  columns.text("Payload", &Row::payload).if_any();
  columns.timestamp("Begin", [](const Row& row) { return row.place.begin_ns; });
  columns.time("Host", &Row::host_ns);
  columns.time("GPU busy", [](const Row& row) { return row.all.gpu_busy_ns; }).if_any();
  columns.time("GPU self", &Row::self_ns).if_room(2).if_any();
  columns.time("GPU sum", [](const Row& row) { return row.all.gpu_sum_ns; }).for_programs();
  columns.timestamp("GPU begin", if_busy(&DeviceFigures::first_ns)).if_room(3).if_any();
  columns.time("GPU span", if_busy([](const DeviceFigures& all) { return all.gpu_span_ns(); })).for_programs();
  columns.time("GPU idle", if_busy(idle)).if_room(4).if_any();
  columns.count("GPU ops", [](const Row& row) { return row.all.gpu_ops; })
      .if_room(1)
      .if_any()
      .bounded_by(common::conditional_title(facts.has_bounds));
  columns.time("Launch delay avg", launch_delay).if_room(6).if_any();
  columns.bytes("Bytes", [](const Row& row) { return row.all.bytes; }).if_room(5).if_any();
  columns.count("Row", [](const Row& row) { return if_that(row.source_row >= 0, row.source_row); }).for_programs();
  common::add_conditional(columns, facts.has_bounds, &Row::conditional_ops);
  if (facts.has_estimates) columns.time("GPU estimated", &Row::estimated_ns).if_any();
  common::add_passes(columns, facts.has_passes, &Row::pass_ns);
  columns.count("Id", [](const Row& row) { return row.place.id; }).for_programs();
  columns.count("Parent id", [](const Row& row) { return if_that(row.parent_id != 0, row.parent_id); }).for_programs();
  return columns;
}

/// What few inputs have, by range.
struct RangeExtras {
  RangeExtras(const Timeline& timeline, const Projection& projection)
      : conditional(analysis::conditional_ops_of_ranges(timeline, projection)),
        estimated(analysis::estimated_times_of_ranges(timeline, projection)),
        passes(analysis::pass_times_of_ranges(timeline, projection)) {}

  void add_to(RangeInstance& row, RangeIndex range) const {
    if (!conditional.empty()) row.conditional_ops += conditional[range];
    if (!estimated.empty()) row.estimated_ns += estimated[range];
    for (std::size_t pass = 0; pass < kPasses && !passes.empty(); ++pass) row.pass_ns[pass] += passes[range][pass];
  }

  const std::vector<std::int64_t> conditional;
  const std::vector<std::int64_t> estimated;
  const analysis::RangePassTimes passes;
};

/// What the host says of it. `id_of` gives what users know a range by.
template <typename IdOf>
void take_host(RangeInstance& row, const Timeline& timeline, const Projection& projection, RangeIndex range,
               const IdOf& id_of) {
  const RangeTable& ranges = timeline.ranges;
  row.place = {ranges.begin_ns[range], projection.depth[range], ranges.thread[range], id_of(range)};
  const RangeIndex parent = projection.parent[range];
  row.parent_id = parent != kNone ? id_of(parent) : 0;
  row.host_ns = if_that(ranges.is_run(range), ranges.run_ns(range));
  row.source_row = ranges.source_row[range];
  row.is_before_recording = (ranges.flags[range] & kBeforeRecording) != 0;
  if (std::string payload = analysis::payload_text(timeline, range); !payload.empty()) row.payload = std::move(payload);
}

}  // namespace

Table table_of_instances(const ProjectedTimeline& projected, const analysis::RecordingFacts& facts,
                         const analysis::PayloadCondition* condition) {
  const Timeline& timeline = projected.timeline();
  const Projection& projection = projected.projection();
  const RangeExtras extras(timeline, projection);
  const ColumnsOf<RangeInstance> columns = instance_columns(timeline, facts);
  Table table = columns.table();
  RangePaths paths(table, projected);
  for (const RangeIndex range : analysis::ranges_by_begin(timeline, projection, projected.projection_options())) {
    if (condition != nullptr && !condition->holds(timeline, range)) continue;
    RangeInstance row;
    row.all = projection.inclusive[range];
    take_host(row, timeline, projection, range, [&](RangeIndex each) { return projected.id_of(each); });
    if (row.is_silent()) continue;
    row.self_ns = projection.exclusive[range].gpu_busy_ns;
    extras.add_to(row, range);
    row.path = paths.of(range);
    columns.add_row(table, row);
  }
  return table;
}

TopInstances::TopInstances(const Timeline& timeline, const ViewOptions& options)
    : timeline_(timeline),
      options_(options),
      columns_(instance_columns(timeline, {.has_estimates = true, .has_passes = true, .has_bounds = true})),
      id_column_(*find_column(columns_.columns(), "id")),
      no_rows_(columns_.table()) {
  options_.columns.clear();
}

Status TopInstances::add(const projection::WindowRows& window, std::span<const projection::RangeInstances::Added> added,
                         const Keeps& keeps) {
  settle(keeps);
  take(window, added);
  if (window.is_last) settle([](std::uint64_t) { return false; });
  constexpr std::size_t kSlack = 4096;
  return rows_.size() > 2 * options_.top + kSlack || all_rows_ == 0 ? prune() : Status();
}

/// Ranges that no later window has become rows.
void TopInstances::settle(const Keeps& keeps) {
  std::vector<std::uint64_t> over;
  for (auto& [key, known] : kept_)
    if (!keeps(key)) over.push_back(key);
  // The paths of all of these are known until the last one is a row.
  std::vector<bool> is_over(recent_.size());
  for (std::size_t i = 0; i < recent_.size(); ++i) is_over[i] = !keeps(first_recent_ + i);
  for (const std::uint64_t key : over) offer(kept_.find(key)->second);
  for (std::size_t i = 0; i < recent_.size(); ++i)
    if (is_over[i]) offer(recent_[i]);
  for (const std::uint64_t key : over) kept_.erase(key);
  for (std::size_t i = 0; i < recent_.size(); ++i)
    if (!is_over[i]) kept_.emplace(first_recent_ + i, std::move(recent_[i]));
  recent_.clear();
}

/// What a window says of its ranges.
void TopInstances::take(const projection::WindowRows& window,
                        std::span<const projection::RangeInstances::Added> added) {
  const Projection& projection = window.projection;
  const RangeExtras extras(timeline_, projection);
  if (window.own_ranges > window.carried_ranges)
    first_recent_ = window.key(RangeIndex(static_cast<std::uint32_t>(window.carried_ranges)));
  recent_.resize(window.own_ranges - window.carried_ranges);
  for (RangeIndex range{0}; range < timeline_.ranges.size(); ++range) {
    Known* const known = find(window.key(range));
    if (known == nullptr) continue;
    if (window.ends_here(range) || !known->is_named) {
      known->takes_part = analysis::takes_part(timeline_.ranges.kind[range], options_.projection);
      known->name = timeline_.ranges.name[range];
      known->is_named = true;
      take_host(known->row, timeline_, projection, range,
                [&](RangeIndex each) { return static_cast<std::int64_t>(window.key(each)); });
    }
    add_work(known->row, projection, range, added);
    extras.add_to(known->row, range);
    if (extras.passes.empty())  // as long as no node has run, all work is forward
      known->row.pass_ns[static_cast<std::size_t>(Pass::kForward)] += projection.inclusive[range].gpu_sum_ns;
  }
}

void TopInstances::add_work(RangeInstance& row, const Projection& projection, RangeIndex range,
                            std::span<const projection::RangeInstances::Added> added) {
  const DeviceFigures& more = projection.inclusive[range];
  if (more.gpu_ops == 0) return;
  DeviceFigures& all = row.all;
  all.first_ns = all.gpu_ops == 0 ? more.first_ns : std::min(all.first_ns, more.first_ns);
  all.last_ns = all.gpu_ops == 0 ? more.last_ns : std::max(all.last_ns, more.last_ns);
  all.gpu_ops += more.gpu_ops;
  all.gpu_sum_ns += more.gpu_sum_ns;
  all.bytes += more.bytes;
  all.launch_delay_ns += more.launch_delay_ns;
  all.gpu_busy_ns += added[range].busy_ns;
  all.any_busy_ns += added[range].any_busy_ns;
  row.self_ns += added[range].own_busy_ns;
}

TopInstances::Known* TopInstances::find(std::uint64_t key) {
  if (key >= first_recent_ && key - first_recent_ < recent_.size()) return &recent_[key - first_recent_];
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : &found->second;
}

void TopInstances::offer(Known& known) {
  if (!known.takes_part || known.row.is_silent()) return;
  ++all_rows_;
  if (is_behind_all(known.row)) return;
  note_path(known.row.place.id);
  rows_.push_back(std::move(known.row));
}

/// There are as many rows as are wanted, and this one is behind them.
bool TopInstances::is_behind_all(const RangeInstance& row) {
  if (!last_place_) return false;
  if (sort_) {
    const Column& column = columns_.columns()[sort_->column];
    const std::int64_t cell = columns_.cell(sort_->column, no_rows_, row);
    if (goes_before(column, sort_->down, cell, last_cell_)) return false;
    if (goes_before(column, sort_->down, last_cell_, cell)) return true;
  }
  return *last_place_ < row.place;
}

void TopInstances::note_path(std::int64_t id) {
  while (id != 0) {
    const Known* const known = find(static_cast<std::uint64_t>(id));
    if (known == nullptr || !parts_.try_emplace(id, Part{known->name, known->row.parent_id}).second) return;
    id = known->row.parent_id;
  }
}

/// In their places.
Table TopInstances::table_of_rows(const ColumnsOf<RangeInstance>& columns) {
  std::sort(rows_.begin(), rows_.end(),
            [](const RangeInstance& a, const RangeInstance& b) { return a.place < b.place; });
  Table table = columns.table();
  std::unordered_map<std::int64_t, Paths::Node> nodes;
  std::vector<std::int64_t> inside;  // not added yet, innermost first
  for (RangeInstance& row : rows_) {
    Paths::Node node = Paths::kNothing;
    for (std::int64_t id = row.place.id; id != 0;) {
      if (const auto known = nodes.find(id); known != nodes.end()) {
        node = known->second;
        break;
      }
      const auto part = parts_.find(id);
      if (part == parts_.end()) break;
      inside.push_back(id);
      id = part->second.parent_id;
    }
    for (; !inside.empty(); inside.pop_back()) {
      const std::int64_t id = inside.back();
      node = table.paths().add(node, id, timeline_, parts_.at(id).name);
      nodes.emplace(id, node);
    }
    row.path = node;
    columns.add_row(table, row);
  }
  return table;
}

/// Drops the rows that will not be shown.
Status TopInstances::prune() {
  Table table = table_of_rows(columns_);
  if (!options_.sort.empty() && !sort_) {
    Result<SortBy> sort = sort_by(table.columns(), options_.sort);
    if (!sort) return std::move(sort).error();
    if (!is_text(table.columns()[sort->column].type)) sort_ = *sort;
  }
  if (Status status = arrange(table, options_); !status.ok()) return status;
  filtered_rows_ += table.filtered_rows();
  std::unordered_map<std::int64_t, std::size_t> row_of;
  for (std::size_t row = 0; row < rows_.size(); ++row) row_of.emplace(rows_[row].place.id, row);
  std::vector<RangeInstance> kept;
  kept.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row)
    kept.push_back(std::move(rows_[row_of.at(table.number_at(row, id_column_))]));
  rows_ = std::move(kept);
  // What filters leave out is counted: those rows have to be looked at.
  const bool is_ordered_by_numbers = options_.sort.empty() || sort_.has_value();
  if (options_.filter.empty() && is_ordered_by_numbers && rows_.size() == options_.top) {
    last_place_ = rows_.back().place;
    if (sort_) last_cell_ = columns_.cell(sort_->column, no_rows_, rows_.back());
  }
  std::unordered_map<std::int64_t, Part> parts;
  for (const RangeInstance& row : rows_)
    for (std::int64_t id = row.place.id; id != 0;) {
      const auto part = parts_.find(id);
      if (part == parts_.end() || !parts.insert(*part).second) break;
      id = part->second.parent_id;
    }
  parts_ = std::move(parts);
  return {};
}

Result<Table> TopInstances::table(const RangeReport& report) {
  if (Status status = prune(); !status.ok()) return std::move(status).error();
  Table table = table_of_rows(instance_columns(timeline_, report.facts));
  table.set_left_out(all_rows_ - rows_.size(), filtered_rows_);
  return table;
}

std::uint64_t TopInstances::memory_bytes() const noexcept {
  constexpr std::uint64_t kNodeBytes = 64;  // of a map, beside the value
  return (rows_.capacity() + recent_.capacity()) * sizeof(Known) + kept_.size() * (sizeof(Known) + kNodeBytes) +
         parts_.size() * (sizeof(Part) + kNodeBytes);
}

}  // namespace rangefinder::report
