// SPDX-License-Identifier: MIT
#include "analysis/nsight/ranges.hpp"
#include "base/text.hpp"
#include "exporter/nsight/rows.hpp"
#include "exporter/nsight/schema.hpp"

#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace rangefinder::nsight_export {
namespace {

/// What is attached to a range or a mark.
struct Attached {
  // A payload, in the column of its type.
  std::optional<std::uint64_t> unsigned_number;
  std::optional<std::int64_t> signed_number;
  std::optional<double> real;
  std::optional<std::string> json;
  std::optional<StringId> whole_text;  // of a range whose name is only a part of it
};

/// Attachments in order, as the rows that they are of come by.
class Attachments {
 public:
  Attachments(const Timeline& timeline, Attachment::Target target)
      : timeline_(timeline),
        target_(target),
        text_is_whole_(target == Attachment::Target::kRange && timeline.format == InputFormat::kNsight) {}

  /// Rows in rising order.
  Attached of(std::size_t row) {
    const std::vector<Attachment>& all = timeline_.attachments;
    while (at_ < all.size() && std::pair(all[at_].target, std::size_t{all[at_].row}) < std::pair(target_, row)) ++at_;
    Attached attached;
    for (; at_ < all.size() && all[at_].target == target_ && all[at_].row == row; ++at_) add(attached, all[at_]);
    return attached;
  }

 private:
  void add(Attached& attached, const Attachment& one) const {
    const auto text = static_cast<StringId>(one.bits);
    switch (one.type) {
      case Attachment::Type::kUnsigned:
        attached.unsigned_number = one.bits;
        break;
      case Attachment::Type::kSigned:
        attached.signed_number = static_cast<std::int64_t>(one.bits);
        break;
      case Attachment::Type::kDouble:
        attached.real = std::bit_cast<double>(one.bits);
        break;
      case Attachment::Type::kText:
        if (text_is_whole_) {
          attached.whole_text = text;
        } else {
          base::append_json_string(attached.json.emplace(), timeline_.text(text));
        }
        break;
    }
  }

  const Timeline& timeline_;
  Attachment::Target target_;
  bool text_is_whole_;
  std::size_t at_ = 0;
};

class NvtxRows {
 public:
  explicit NvtxRows(Export& out)
      : out_(out),
        timeline_(out.timeline),
        names_(out.output, "NVTX_EVENTS", {"start", "eventType", "category", "text", "globalTid", "domainId"}),
        events_(out.output, "NVTX_EVENTS",
                {"start", "end", "eventType", "rangeId", "category", "text", "globalTid", "endGlobalTid", "domainId",
                 "uint64Value", "int64Value", "doubleValue", "jsonText"}) {}

  void write() {
    Attachments of_ranges(timeline_, Attachment::Target::kRange), of_marks(timeline_, Attachment::Target::kMark);
    for (RangeIndex range{0}; range < timeline_.ranges.size(); ++range)
      if (analysis::nsight::is_nvtx(timeline_, range)) write_range(range, of_ranges.of(range));
    for (std::size_t mark = 0; mark < timeline_.marks.size(); ++mark) write_mark(mark, of_marks.of(mark));
  }

 private:
  void write_range(RangeIndex range, const Attached& attached) {
    const RangeTable& ranges = timeline_.ranges;
    const std::uint8_t flags = ranges.flags[range];
    if ((flags & kBeforeRecording) != 0) return;  // Nsight's times do not begin before the recording
    const ThreadIndex thread = ranges.thread[range];
    const std::int64_t domain = domain_of(thread, ranges.domain[range]);
    const bool start_end = ranges.style[range] == RangeStyle::kStartEnd;
    std::optional<std::int64_t> end, number, end_thread;
    if ((flags & kUnfinished) == 0) end = out_.time(ranges.end_ns[range]);
    if (start_end) number = std::int64_t{range} + 1;
    if ((flags & kEndedElsewhere) != 0) end_thread = out_.ids.thread(ranges.end_thread[range]);
    events_.row(out_.time(ranges.begin_ns[range]), end, static_cast<int>(start_end ? kStartEndEvent : kPushPopEvent),
                number, category_of(thread, domain, ranges.category[range]),
                timeline_.text(attached.whole_text.value_or(ranges.name[range])), out_.ids.thread(thread), end_thread,
                domain, attached.unsigned_number, attached.signed_number, attached.real, attached.json);
  }

  void write_mark(std::size_t mark, const Attached& attached) {
    const MarkTable& marks = timeline_.marks;
    const ThreadIndex thread = marks.thread[mark];
    events_.row(out_.time(marks.time_ns[mark]), nullptr, static_cast<int>(kMarkEvent), nullptr,
                category_of(thread, 0, marks.category[mark]), timeline_.text(marks.name[mark]), out_.ids.thread(thread),
                nullptr, 0, attached.unsigned_number, attached.signed_number, attached.real, attached.json);
  }

  /// Its number, announced where the process uses it for the first time; 0 is the default domain, which has no name.
  std::int64_t domain_of(ThreadIndex thread, StringId name) {
    if (name == StringId::kEmpty) return 0;
    const auto number = static_cast<std::int64_t>(domains_.size()) + 1;
    const std::int64_t domain = domains_.try_emplace(name, number).first->second;
    if (announced_.insert({timeline_.threads[thread].process, domain, -1}).second)
      announce(thread, kDomainEvent, domain, {}, name);
    return domain;
  }

  /// The same of a category within a domain.
  std::optional<std::int64_t> category_of(ThreadIndex thread, std::int64_t domain, StringId name) {
    if (name == StringId::kEmpty) return {};
    const auto number = static_cast<std::int64_t>(categories_.size()) + 1;
    const std::int64_t category = categories_.try_emplace(name, number).first->second;
    if (announced_.insert({timeline_.threads[thread].process, domain, category}).second)
      announce(thread, kCategoryEvent, domain, category, name);
    return category;
  }

  void announce(ThreadIndex thread, EventType type, std::int64_t domain, std::optional<std::int64_t> category,
                StringId name) {
    names_.row(0, static_cast<int>(type), category, timeline_.text(name), out_.ids.thread(thread), domain);
  }

  Export& out_;
  const Timeline& timeline_;
  Insert names_, events_;
  std::map<StringId, std::int64_t> domains_, categories_;
  std::set<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> announced_;  // process, domain, category or -1
};

}  // namespace

void write_nvtx(Export& out) { NvtxRows(out).write(); }

}  // namespace rangefinder::nsight_export
