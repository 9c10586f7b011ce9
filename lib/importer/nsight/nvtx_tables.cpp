// SPDX-License-Identifier: MIT
#include "importer/nsight/nvtx_tables.hpp"

#include "base/text.hpp"
#include "importer/nsight/emit_nvtx.hpp"
#include "importer/nsight/table_scan.hpp"

#include <rangefinder/detail/cells.hpp>

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::importer::nsight {
namespace {

enum EventType : std::int64_t {
  kCategory = 33,
  kMark = 34,
  kThreadName = 39,
  kPushPop = 59,
  kStartEnd = 60,
  kImportedPushPop = 70,  // from .nvtxt files
  kImportedStartEnd = 71,
  kDomainCreate = 75,
};

enum Column {
  kEventStart,
  kEventEnd,
  kType,
  kGlobalTid,
  kEndGlobalTid,
  kText,
  kTextId,
  kDomainId,
  kCategoryId,
  kUint64,
  kInt64,
  kDouble,
  kUint32,
  kInt32,
  kFloat,
  kJsonText,
  kJsonTextId,
  kBinary,
  kPayload,
};

constexpr std::array kColumns = {
    required("start"),         required("end"),           required("eventType"),  optional("globalTid"),
    optional("endGlobalTid"),  optional("text"),          optional("textId"),     optional("domainId"),
    optional("category"),      optional("uint64Value"),   optional("int64Value"), optional("doubleValue"),
    optional("uint32Value"),   optional("int32Value"),    optional("floatValue"), presence_of("jsonText"),
    presence_of("jsonTextId"), presence_of("binaryData"), optional("binaryData"),
};

constexpr std::size_t kLongestPrefix = 256;

// Names that a process gave to numbers of its own.
using Names = std::map<std::pair<std::int64_t, std::int64_t>, StringId>;  // process, domain
using CategoryNames = std::map<std::array<std::int64_t, 3>, StringId>;    // process, domain, category

// Which process, domain and category a row belongs to: their names may come later in the table.
struct Labels {
  std::int64_t process;
  std::int64_t domain;
  std::int64_t category;
  auto operator<=>(const Labels&) const = default;
};

/// Labels by number: few differ.
class LabelSet {
 public:
  std::uint32_t number_of(const Labels& labels) {
    if (!all_.empty() && all_[recent_] == labels) return recent_;
    const auto [found, added] = numbers_.try_emplace(labels, static_cast<std::uint32_t>(all_.size()));
    if (added) all_.push_back(labels);
    return recent_ = found->second;
  }
  const Labels& operator[](std::uint32_t number) const noexcept { return all_[number]; }

 private:
  std::vector<Labels> all_;
  std::map<Labels, std::uint32_t> numbers_;
  std::uint32_t recent_ = 0;
};

class NvtxReader {
 public:
  NvtxReader(ImportContext& context, StringTable& strings, Entities& entities, NcclCalls& nccl)
      : context_(context),
        strings_(strings),
        entities_(entities),
        nccl_(nccl),
        timeline_(context.timeline),
        emit_nvtx_(context.timeline, context.options) {}

  void read();

 private:
  void read_event(TableScan& row);
  void read_range(TableScan& row, std::int64_t start, std::int64_t type);
  void read_mark(TableScan& row, std::int64_t start);
  void read_value(TableScan& row, Attachment::Target target, std::size_t index);
  void finish_ranges();
  void finish_marks();
  void finish_thread_names();
  void report();

  StringId name_of(TableScan& row);
  ThreadIndex thread_of(const std::optional<std::int64_t>& global_tid) {
    return global_tid ? entities_.thread(*global_tid) : entities_.unknown_thread();
  }
  Labels labels_of(TableScan& row);
  StringId domain_name(const Labels& labels) const;
  StringId category_name(const Labels& labels);

  ImportContext& context_;
  StringTable& strings_;
  Entities& entities_;
  NcclCalls& nccl_;
  Timeline& timeline_;
  EmitNvtx emit_nvtx_;

  Names domains_;
  CategoryNames categories_;
  std::map<std::int64_t, StringId> thread_names_;
  LabelSet labels_;
  detail::Cells<std::uint32_t> range_labels_;  // by range: of labels_
  detail::Cells<std::uint32_t> mark_labels_;
  std::vector<RangeIndex> unfinished_;
  std::vector<Attachment> mark_values_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t unread_payloads_ = 0;
  std::uint64_t nameless_ = 0;
  std::uint64_t threadless_ = 0;
};

void NvtxReader::read() {
  TableScan row(context_, "NVTX_EVENTS", kColumns);
  if (!row.usable()) {
    if (context_.database.table("NVTX_EVENTS") == nullptr)
      context_.note("no table NVTX_EVENTS: no ranges were recorded");
    return;
  }
  if (!row.has(kGlobalTid)) context_.note("NVTX_EVENTS has no column globalTid: ranges own no device activity");
  if (!row.has(kTextId)) context_.note("NVTX_EVENTS has no column textId: registered names are missing");
  while (row.next()) read_event(row);
  finish_ranges();
  finish_marks();
  finish_thread_names();
  report();
}

void NvtxReader::read_event(TableScan& row) {
  const std::optional<std::int64_t> start = row.integer(kEventStart);
  const std::optional<std::int64_t> type = row.integer(kType);
  if (!start || !valid_time(*start)) return row.reject(start ? "its start is no possible time" : "no start");
  if (!type) return row.reject("no event type");
  last_ns_ = std::max(last_ns_, *start);
  if (const std::optional<std::int64_t> end = row.integer(kEventEnd); end && valid_time(*end))
    last_ns_ = std::max(last_ns_, *end);
  switch (*type) {
    case kPushPop:
    case kStartEnd:
    case kImportedPushPop:
    case kImportedStartEnd:
      return read_range(row, *start, *type);
    case kMark:
      return read_mark(row, *start);
    case kDomainCreate: {
      const Labels labels = labels_of(row);
      domains_[{labels.process, labels.domain}] = name_of(row);
      return;
    }
    case kCategory: {
      const Labels labels = labels_of(row);
      categories_[{labels.process, labels.domain, labels.category}] = name_of(row);
      return;
    }
    case kThreadName:
      if (const std::optional<std::int64_t> thread = row.integer(kGlobalTid)) thread_names_[*thread] = name_of(row);
      return;
    default:
      return;  // resource names, domain ends: nothing here shows them
  }
}

void NvtxReader::read_range(TableScan& row, std::int64_t start, std::int64_t type) {
  const std::optional<std::int64_t> end = row.integer(kEventEnd);
  if (end && !valid_interval(start, *end)) return row.reject("it ends before it begins");
  const std::optional<std::int64_t> global_tid = row.integer(kGlobalTid);
  const std::optional<std::int64_t> end_tid = row.integer(kEndGlobalTid);
  RangeTable& ranges = timeline_.ranges;
  const ThreadIndex thread = thread_of(global_tid);
  const ThreadIndex end_thread = end_tid ? entities_.thread(*end_tid) : thread;
  std::uint8_t flags = 0;
  if (!end) flags |= kUnfinished;
  if (end_thread != thread) flags |= kEndedElsewhere;
  if (!global_tid) flags |= kOwnerless;
  threadless_ += global_tid ? 0 : 1;
  timeline_.health.foreign_ends += end_thread != thread ? 1 : 0;
  if (!end) unfinished_.push_back(static_cast<RangeIndex>(ranges.size()));
  const StringId name = name_of(row);
  const bool is_read = NcclCalls::is_call(timeline_.text(name)) &&
                       nccl_.add(RangeIndex(ranges.size()), row.text(kPayload).value_or(std::string_view{}));
  if (!is_read) read_value(row, Attachment::Target::kRange, ranges.size());
  nameless_ += name == StringId::kEmpty ? 1 : 0;
  const bool scoped = type == kPushPop || type == kImportedPushPop;
  ranges.append({.name = name,
                 .style = scoped ? RangeStyle::kScoped : RangeStyle::kStartEnd,
                 .flags = flags,
                 .thread = thread,
                 .end_thread = end_thread,
                 .begin_ns = start,
                 .end_ns = end.value_or(start),
                 .source_row = row.row_id()});
  range_labels_.push_back(labels_.number_of(labels_of(row)));
  emit_nvtx_.add(timeline_.text(ranges.name.back()));
}

void NvtxReader::read_mark(TableScan& row, std::int64_t start) {
  MarkTable& marks = timeline_.marks;
  read_value(row, Attachment::Target::kMark, marks.size());
  marks.append({.name = name_of(row),
                .thread = thread_of(row.integer(kGlobalTid)),
                .time_ns = start,
                .source_row = row.row_id()});
  mark_labels_.push_back(labels_.number_of(labels_of(row)));
}

void NvtxReader::read_value(TableScan& row, Attachment::Target target, std::size_t index) {
  Attachment value;
  value.target = target;
  value.row = static_cast<std::uint32_t>(index);
  const auto take = [&](Attachment::Type type, std::uint64_t bits) {
    value.type = type;
    value.bits = bits;
    (target == Attachment::Target::kRange ? timeline_.attachments : mark_values_).push_back(value);
  };
  // A row has one member of NVTX's payload union at most.
  for (const Column column : {kUint64, kUint32})
    if (const auto number = row.integer(column))
      return take(Attachment::Type::kUnsigned, static_cast<std::uint64_t>(*number));
  for (const Column column : {kInt64, kInt32})
    if (const auto number = row.integer(column))
      return take(Attachment::Type::kSigned, static_cast<std::uint64_t>(*number));
  for (const Column column : {kDouble, kFloat})
    if (const auto number = row.real(column))
      return take(Attachment::Type::kDouble, std::bit_cast<std::uint64_t>(*number));
  for (const Column column : {kJsonText, kJsonTextId, kBinary})
    if (row.integer_or(column, 0) != 0) {
      ++unread_payloads_;
      return;
    }
}

StringId NvtxReader::name_of(TableScan& row) {
  if (const auto text = row.text(kText)) return timeline_.intern(*text);
  if (const auto id = row.integer(kTextId)) return strings_.resolve(context_, *id);
  return StringId::kEmpty;
}

Labels NvtxReader::labels_of(TableScan& row) {
  return {process_part(row.integer_or(kGlobalTid, 0)), row.integer_or(kDomainId, 0), row.integer_or(kCategoryId, 0)};
}

StringId NvtxReader::domain_name(const Labels& labels) const {
  const auto found = domains_.find({labels.process, labels.domain});
  return found == domains_.end() ? StringId::kEmpty : found->second;
}

StringId NvtxReader::category_name(const Labels& labels) {
  if (labels.category == 0) return StringId::kEmpty;
  const auto found = categories_.find({labels.process, labels.domain, labels.category});
  return found == categories_.end() ? timeline_.intern(std::to_string(labels.category)) : found->second;
}

void NvtxReader::finish_ranges() {
  RangeTable& ranges = timeline_.ranges;
  for (std::size_t i = 0; i < range_labels_.size(); ++i) {
    const Labels& labels = labels_[range_labels_[i]];
    ranges.set_labels(static_cast<RangeIndex>(i), domain_name(labels), category_name(labels));
  }
  for (const RangeIndex range : unfinished_) ranges.set_end(range, std::max(last_ns_, ranges.begin_ns[range]));
  timeline_.health.unfinished_ranges += unfinished_.size();
  emit_nvtx_.finish();
}

void NvtxReader::finish_marks() {
  MarkTable& marks = timeline_.marks;
  for (std::size_t i = 0; i < mark_labels_.size(); ++i) {
    MarkRow mark = marks.row(i);
    const Labels& labels = labels_[mark_labels_[i]];
    mark.category = category_name(labels);
    if (const StringId domain = domain_name(labels); domain != StringId::kEmpty) {
      // Marks have no column for their domain. A very long one would be repeated in every name.
      std::string full(timeline_.text(domain).substr(0, kLongestPrefix));
      full.append(":").append(timeline_.text(mark.name));
      mark.name = timeline_.intern(full);
    }
    marks.set(i, mark);
  }
  timeline_.attachments.insert(timeline_.attachments.end(), mark_values_.begin(), mark_values_.end());
}

void NvtxReader::finish_thread_names() {
  for (const auto& [global_tid, name] : thread_names_)
    if (const auto thread = entities_.find_thread(global_tid)) timeline_.threads[*thread].name = timeline_.text(name);
}

void NvtxReader::report() {
  // Nsight puts "domain:" before a name whenever a domain was announced, also before those of the default domain, whose
  // name is empty. Its views need to know.
  for (const auto& [key, name] : domains_)
    if (name == StringId::kEmpty) {
      timeline_.metadata.emplace_back("nsight_default_domain_announced", "true");
      break;
    }
  const auto say = [&](std::uint64_t count, const char* text) {
    if (count != 0) context_.note("NVTX_EVENTS: " + base::with_thousands(count) + " " + text);
  };
  say(nameless_, "ranges without a text");
  say(threadless_, "ranges without a thread: they own no device activity");
  say(unread_payloads_, "payloads of JSON or binary form, not read");
}

}  // namespace

void read_nvtx(ImportContext& context, StringTable& strings, Entities& entities, NcclCalls& nccl) {
  NvtxReader(context, strings, entities, nccl).read();
}

}  // namespace rangefinder::importer::nsight
