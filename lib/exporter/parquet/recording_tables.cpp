// SPDX-License-Identifier: MIT
// What rows become while windows come. recording_summary.cpp writes the tables of summaries.
#include "exporter/parquet/recording_tables.hpp"

#include "analysis/device_states.hpp"
#include "analysis/range_rollup.hpp"
#include "base/file.hpp"
#include "timeline/words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rangefinder::parquet {
namespace {

using projection::WindowRows;

const std::vector<Field> kActivityFields = {
    {"device", CellKind::kInt32},
    {"context", CellKind::kInt32},
    {"stream"},
    {"kind", CellKind::kText},
    {"name", CellKind::kText},
    {"begin_ns"},
    {"duration_ns"},
    {"bytes"},
    {"correlation", CellKind::kInt64, true},
    {"launch_ns", CellKind::kInt64, true},
    {"step", CellKind::kInt64, true},
    {"owner", CellKind::kText},
    {"path", CellKind::kText, true},
    {"communication", CellKind::kFlag},
    {"estimated", CellKind::kFlag},
    {"graph", CellKind::kInt64, true},
};
const std::vector<Field> kCallFields = {
    {"thread"},
    {"domain", CellKind::kText},
    {"name", CellKind::kText},
    {"begin_ns"},
    {"duration_ns"},
    {"correlation", CellKind::kInt64, true},
    {"result", CellKind::kInt32},
    {"step", CellKind::kInt64, true},
};
const std::vector<Field> kRangeFields = {
    {"thread"},
    {"kind", CellKind::kText},
    {"name", CellKind::kText},
    {"path", CellKind::kText, true},
    {"category", CellKind::kText},
    {"begin_ns"},
    {"duration_ns"},
    {"step", CellKind::kInt64, true},
    {"unfinished", CellKind::kFlag},
};
const std::vector<Field> kCollectiveFields = {
    {"kind", CellKind::kText},
    {"source", CellKind::kText},
    {"name", CellKind::kText},
    {"process_group", CellKind::kText},
    {"number", CellKind::kInt64, true},
    {"elements_in", CellKind::kInt64, true},
    {"elements_out", CellKind::kInt64, true},
    {"dtype", CellKind::kText},
    {"peer", CellKind::kInt32, true},
    {"begin_ns", CellKind::kInt64, true},
    {"end_ns", CellKind::kInt64, true},
    {"started_ns", CellKind::kInt64, true},
    {"completed_ns", CellKind::kInt64, true},
    {"step", CellKind::kInt64, true},
    {"algorithm", CellKind::kText},
    {"protocol", CellKind::kText},
    {"channels", CellKind::kInt32},
};

// By what is left of a value of Unowned above kOutside, and last the word for what a range owns.
constexpr std::array kOwners = {"outside", "before", "unknown", "range"};

// Of step and range, that are kept in memory: some 50 MB. The tables of a recording of endless steps do not fit in it.
constexpr std::size_t kMostCells = std::size_t{1} << 18;

std::int64_t id_of(StringId name) noexcept { return static_cast<std::uint32_t>(name); }
std::int64_t number_or_missing(std::uint64_t number) noexcept {
  return number == 0 ? kMissing : static_cast<std::int64_t>(number);
}
std::int64_t unless(std::int64_t value, std::int64_t missing) noexcept { return value == missing ? kMissing : value; }
std::int64_t length_of(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  return projection::Interval(begin_ns, end_ns).length();
}

constexpr auto kFirstUnowned = static_cast<std::uint32_t>(Unowned::kOutside);
bool is_owned(std::uint32_t owner) noexcept { return owner < kFirstUnowned; }
std::size_t owner_index(std::uint32_t owner) noexcept {
  return is_owned(owner) ? kOwners.size() - 1 : std::size_t{owner - kFirstUnowned};
}

}  // namespace

RecordingTables::RecordingTables(const rf_parquet_writer& writer, const Timeline& timeline, const StepMarks& steps,
                                 Options options)
    : writer_(writer), timeline_(timeline), steps_(steps), options_(std::move(options)) {
  for (std::size_t i = 0; i < kActivityKindWords.size(); ++i) kind_words_[i] = word(kActivityKindWords[i]);
  for (std::size_t i = 0; i < kCallDomainWords.size(); ++i) domain_words_[i] = word(kCallDomainWords[i]);
  for (std::size_t i = 0; i < kRangeKindWords.size(); ++i) range_kind_words_[i] = word(kRangeKindWords[i]);
  for (std::size_t i = 0; i < kOwners.size(); ++i) owner_words_[i] = word(kOwners[i]);
  if (!options_.detail) return;
  calls_ = &file("detail/calls", "calls", kCallFields, {0, 3});
  ranges_ = &file("detail/ranges", "ranges", kRangeFields, {0, 5});
  collectives_ = &file("detail/collectives", "collectives", kCollectiveFields, {9});
}

std::vector<TextOf> RecordingTables::texts_of(const std::vector<Field>& fields) const {
  std::vector<TextOf> texts;
  for (const Field& field : fields) {
    if (field.kind != CellKind::kText) continue;
    const std::string_view name = field.name;
    if (name == "path")
      texts.emplace_back([this](std::int64_t id) { return paths_.text(static_cast<std::uint32_t>(id)); });
    else if (name == "name" || name == "range" || name == "dtype" || name == "category" || name == "algorithm" ||
             name == "protocol")
      texts.emplace_back([this](std::int64_t id) { return timeline_.text(StringId{static_cast<std::uint32_t>(id)}); });
    else
      texts.emplace_back([this](std::int64_t id) { return std::string_view(words_[static_cast<std::size_t>(id)]); });
  }
  return texts;
}

RowFile& RecordingTables::file(const std::string& table, const std::string& name, const std::vector<Field>& fields,
                               std::vector<int> sorted_by) {
  const std::string folder = hive_folder(options_.root, table, options_.partition);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error && folders_.ok()) folders_ = Error(ErrorCode::kIo, "create " + folder + ": " + error.message());
  const std::string path = folder + "/" + name + ".parquet";
  // Before the work is done, and again when the file gets its name.
  if (!options_.replace && folders_.ok() && base::exists(path))
    folders_ =
        Error(ErrorCode::kExists, path + ": exists already; choose another folder" + std::string(base::kOrReplace));
  std::unique_ptr<RowFile>& file = files_[path];
  if (file == nullptr)
    file = std::make_unique<RowFile>(writer_, path,
                                     RowFile::Options{.fields = fields,
                                                      .texts = texts_of(fields),
                                                      .sorted_by = std::move(sorted_by),
                                                      .constants = {"lost_records", "clock_error_ns"}});
  file->set_constants(losses_);
  return *file;
}

RowFile& RecordingTables::activities_of(DeviceIndex device) {
  if (device >= activity_files_.size()) activity_files_.resize(timeline_.devices.size());
  RowFile*& known = activity_files_[device];
  if (known == nullptr)
    known =
        &file("detail/activities", "device-" + std::to_string(timeline_.devices[device].id), kActivityFields, {0, 5});
  return *known;
}

void RecordingTables::set_losses(const CaptureHealth& health, std::int64_t clock_error_ns) {
  std::uint64_t lost = 0;
  for (const CaptureHealth::Entry& entry : health.entries())
    if (entry.severity == CaptureHealth::Severity::kLoss) lost += entry.count;
  lost -= health.damaged_bytes;  // no records; the chunks that they were in count
  losses_ = {static_cast<std::int64_t>(lost), clock_error_ns};
  for (const auto& [path, file] : files_) file->set_constants(losses_);
}

std::int64_t RecordingTables::word(std::string_view text) {
  const auto found = std::find(words_.begin(), words_.end(), text);
  if (found != words_.end()) return found - words_.begin();
  words_.emplace_back(text);
  return static_cast<std::int64_t>(words_.size()) - 1;
}

std::int64_t RecordingTables::owner_word(std::uint32_t owner) const noexcept {
  return owner_words_[owner_index(owner)];
}

bool RecordingTables::is_ours(ThreadIndex thread) const noexcept {
  return thread != kNone && timeline_.threads[thread].process == options_.process;
}

std::uint32_t RecordingTables::path_of(const WindowRows& window, RangeIndex range) {
  chain_.clear();
  RangeIndex at = range;
  while (at != kNone && path_of_range_[at] == kNone) {
    chain_.push_back(at);
    at = window.projection.parent[at];
  }
  std::uint32_t path = at == kNone ? std::uint32_t{kNone} : path_of_range_[at];
  for (std::size_t i = chain_.size(); i-- > 0;) {
    const StringId name = timeline_.ranges.name[chain_[i]];
    path = paths_.add(path, name, timeline_.text(name));
    path_of_range_[chain_[i]] = path;
  }
  return path;
}

void RecordingTables::add(const WindowRows& window, std::size_t own_calls) {
  path_of_range_.assign(timeline_.ranges.size(), kNone);
  for (std::size_t row = 0; row < timeline_.steps.size(); ++row)
    if (is_ours(timeline_.steps.thread[row]))
      summary_.add_step(timeline_.steps.number[row], timeline_.steps.begin_ns[row], timeline_.steps.end_ns[row],
                        timeline_.steps.items[row]);
  add_activities(window);
  add_ranges(window);
  if (summary_.cell_count() >= kMostCells) write_cells(summary_.take_earlier(paths_));
  if (!options_.detail) return;
  add_calls(own_calls);
  add_collectives();
}

/// Ours, by begin: so that those of a step come in the order that adding up what they cover wants.
std::vector<ActivityIndex> RecordingTables::activities_in_order() const {
  const ActivityTable& activities = timeline_.activities;
  std::vector<ActivityIndex> rows;
  rows.reserve(activities.size());
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (timeline_.devices[timeline_.streams[activities.stream[row]].device].process == options_.process)
      rows.push_back(row);
  const auto before = [&](ActivityIndex a, ActivityIndex b) { return activities.begin_ns[a] < activities.begin_ns[b]; };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) std::stable_sort(rows.begin(), rows.end(), before);
  return rows;
}

void RecordingTables::add_activities(const WindowRows& window) {
  communication_.resize(timeline_.string_count(), -1);
  for (const ActivityIndex row : activities_in_order())
    add_activity(window, row, timeline_.streams[timeline_.activities.stream[row]]);
}

void RecordingTables::add_activity(const WindowRows& window, ActivityIndex row, const StreamInfo& stream) {
  const ActivityTable& activities = timeline_.activities;
  const LaunchIndex launch = activities.launch[row];
  const std::int64_t begin_ns = activities.begin_ns[row];
  const std::int64_t launch_ns = launch == kNone ? kNoTime : timeline_.launches.time_ns[launch];
  const std::int64_t step = steps_.number_at(launch_ns != kNoTime ? launch_ns : begin_ns);
  const std::uint32_t owner = window.projection.owner[row];
  const std::uint32_t path = is_owned(owner) ? path_of(window, RangeIndex(owner)) : owner;
  const StringId name = activities.name[row];
  const ActivityKind kind = activities.kind[row];
  bool communication = activities.collective[row] != kNone;
  if (kind == ActivityKind::kKernel && !communication) {
    std::int8_t& known = communication_[static_cast<std::uint32_t>(name)];
    if (known < 0) known = analysis::is_communication(timeline_.text(name)) ? 1 : 0;
    communication = known != 0;
  }
  summary_.add({.begin_ns = begin_ns,
                .end_ns = activities.end_ns[row],
                .step = step,
                .owner = path,
                .name = name,
                .kind = kind,
                .communication = communication,
                .bytes = activities.bytes[row],
                .launch_delay_ns = launch_ns == kNoTime ? 0 : projection::minus(begin_ns, launch_ns)});
  if (!options_.detail) return;
  activities_of(stream.device)
      .add({timeline_.devices[stream.device].id, stream.context, stream.id, kind_words_[static_cast<std::size_t>(kind)],
            id_of(name), begin_ns, length_of(begin_ns, activities.end_ns[row]),
            static_cast<std::int64_t>(activities.bytes[row]), number_or_missing(activities.correlation[row]), launch_ns,
            step, owner_word(owner), is_owned(owner) ? std::int64_t{path} : kMissing, communication,
            activities.estimated[row], number_or_missing(activities.graph[row])});
}

void RecordingTables::add_calls(std::size_t own_calls) {
  const CallTable& calls = timeline_.calls;
  for (CallIndex row{0}; row < own_calls; ++row) {
    if (!is_ours(calls.thread[row])) continue;
    calls_->add({timeline_.threads[calls.thread[row]].tid, domain_words_[static_cast<std::size_t>(calls.domain[row])],
                 id_of(calls.name[row]), calls.begin_ns[row], length_of(calls.begin_ns[row], calls.end_ns[row]),
                 number_or_missing(calls.correlation[row]), calls.result[row], steps_.number_at(calls.begin_ns[row])});
  }
}

void RecordingTables::add_ranges(const WindowRows& window) {
  const RangeTable& ranges = timeline_.ranges;
  for (RangeIndex row{0}; row < window.own_ranges; ++row) {
    if (!window.ends_here(row) || !is_ours(ranges.thread[row])) continue;
    if ((ranges.flags[row] & kBeforeRecording) != 0) continue;
    const bool takes_part = analysis::takes_part(ranges.kind[row], options_.projection);
    const std::int64_t step = steps_.number_at(ranges.begin_ns[row]);
    const std::uint32_t path = takes_part ? path_of(window, row) : std::uint32_t{kNone};
    if (takes_part && ranges.is_run(row)) summary_.add_run(step, path, ranges.run_ns(row));
    if (!options_.detail) continue;
    ranges_->add({timeline_.threads[ranges.thread[row]].tid,
                  range_kind_words_[static_cast<std::size_t>(ranges.kind[row])], id_of(ranges.name[row]),
                  takes_part ? std::int64_t{path} : kMissing, id_of(ranges.category[row]), ranges.begin_ns[row],
                  length_of(ranges.begin_ns[row], ranges.end_ns[row]), step, (ranges.flags[row] & kUnfinished) != 0});
  }
}

/// A collective is in each window until its kernels are there, and knows more each time.
void RecordingTables::add_collectives() {
  const CollectiveTable& table = timeline_.collectives;
  std::map<CollectiveKey, CollectiveRow> here;
  for (CollectiveIndex row{0}; row < table.size(); ++row) {
    if (table.process[row] != options_.process) continue;
    const CollectiveRow all = table.row(row);
    here[{all.begin_ns, all.thread, all.number, static_cast<std::uint8_t>(all.kind),
          static_cast<std::uint8_t>(all.source)}] = all;
  }
  for (const auto& [key, row] : pending_collectives_)
    if (here.find(key) == here.end()) write_collective(row);
  pending_collectives_ = std::move(here);
}

void RecordingTables::write_collective(const CollectiveRow& row) {
  const std::string group = row.group == kNone ? std::string() : timeline_.process_groups[row.group].name;
  collectives_->add({word(word_of(row.kind)), word(word_of(row.source)), id_of(row.name), word(group),
                     unless(row.number, -1), unless(row.elements_in, -1), unless(row.elements_out, -1),
                     id_of(row.dtype), unless(row.peer, -1), row.begin_ns, row.end_ns, row.started_ns, row.completed_ns,
                     row.begin_ns == kNoTime ? kMissing : steps_.number_at(row.begin_ns), id_of(row.algorithm),
                     id_of(row.protocol), row.channels});
}

Status RecordingTables::finish(std::int64_t begin_ns, std::int64_t end_ns) {
  if (!folders_.ok()) return folders_;
  for (const auto& [key, row] : pending_collectives_) write_collective(row);
  pending_collectives_.clear();
  set_losses(timeline_.health, timeline_.clock_error_ns);
  write_cells(summary_.take_all(paths_));
  write_steps();
  write_kernels();
  write_recording(begin_ns, end_ns);
  write_health();
  if (!folders_.ok()) return folders_;
  for (const auto& [path, file] : files_)
    if (Status status = file->finish(); !status.ok()) return status;
  return {};
}

Status RecordingTables::take_names() {
  for (const auto& [path, file] : files_)
    if (Status status = file->take_name(options_.replace); !status.ok()) return status;
  return {};
}

std::uint64_t RecordingTables::rows() const noexcept {
  std::uint64_t rows = 0;
  for (const auto& [path, file] : files_) rows += file->rows();
  return rows;
}

}  // namespace rangefinder::parquet
