// SPDX-License-Identifier: MIT
#include "buffer/captured_records.hpp"

#include "format/node_note.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::buffer {
namespace {

using detail::ExtraKind;
using detail::make_word;
using detail::Record;
using detail::RecordKind;
using detail::word_aux;
using detail::word_category;
using detail::word_id;
using detail::word_kind;

constexpr std::uint64_t label_of(std::uint64_t word) noexcept {
  return std::uint64_t{word_id(word)} << 16 | word_category(word);
}
constexpr std::uint64_t end_word(std::uint64_t label) noexcept {
  return make_word(RecordKind::kEnd, static_cast<std::uint32_t>(label >> 16),
                   static_cast<std::uint32_t>(label & detail::kCategoryMask));
}

}  // namespace

// ---- what is open ------------------------------------------------------------------------------------------------

/// What lies outside of all that is kept is not followed.
void CapturedRecords::open(std::vector<Open>& ranges, Label label, bool kept) {
  if (kept || !ranges.empty()) ranges.push_back({label, kept});
  kept_open_ += kept ? 1 : 0;
}

/// The innermost of that label; true when it was kept. Those inside it end elsewhere, or their end is lost: as the
/// reader does, they are no longer looked for.
bool CapturedRecords::close_one(std::vector<Open>& ranges, Label label) {
  const auto found = std::find_if(ranges.rbegin(), ranges.rend(), [&](const Open& one) { return one.label == label; });
  if (found == ranges.rend()) return false;
  const auto from = std::prev(found.base());
  const bool kept = from->kept;
  const auto goes = [&](const Open& one) { return kept || !one.kept; };
  kept_open_ -= static_cast<std::uint64_t>(
      std::count_if(from, ranges.end(), [&](const Open& one) { return goes(one) && one.kept; }));
  ranges.erase(std::remove_if(from, ranges.end(), goes), ranges.end());
  return kept;
}

/// The innermost `count`; how many of them were kept.
std::uint32_t CapturedRecords::close_last(std::vector<Open>& ranges, std::uint32_t count) {
  std::uint32_t kept = 0;
  for (; count > 0 && !ranges.empty(); --count) {
    kept += ranges.back().kept ? 1 : 0;
    ranges.pop_back();
  }
  kept_open_ -= kept;
  return kept;
}

std::uint32_t CapturedRecords::close_last(std::vector<bool>& nodes, std::uint32_t count) {
  std::uint32_t kept = 0;
  for (; count > 0 && !nodes.empty(); --count) {
    kept += nodes.back() ? 1 : 0;
    nodes.pop_back();
  }
  kept_open_ -= kept;
  return kept;
}

/// The same of one range of some thread, and none inside it.
bool CapturedRecords::close_of_other(std::uint32_t thread, Label label) {
  const auto owner = threads_.find(thread);
  if (owner == threads_.end()) return false;
  std::vector<Open>& ranges = owner->second.ranges;
  const auto found = std::find_if(ranges.rbegin(), ranges.rend(), [&](const Open& one) { return one.label == label; });
  if (found == ranges.rend()) return false;
  const bool kept = found->kept;
  ranges.erase(std::prev(found.base()));
  kept_open_ -= kept ? 1 : 0;
  return kept;
}

bool CapturedRecords::any_open(std::uint32_t thread) const noexcept {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return false;
  const Thread& of = found->second;
  return std::any_of(of.ranges.begin(), of.ranges.end(), [](const Open& one) { return one.kept; }) ||
         std::any_of(of.nodes.begin(), of.nodes.end(), [](bool kept) { return kept; }) ||
         std::any_of(start_end_.begin(), start_end_.end(), [&](const auto& one) { return one.second == thread; });
}

// ---- one run -----------------------------------------------------------------------------------------------------

struct CapturedRecords::Taking {
  CapturedRecords& all;
  Thread& thread;
  std::uint32_t index;
  std::span<const Record> records;
  std::span<const CaptureSpan> spans;
  std::vector<Record> out;
  bool kept = false;  // the record before: its values follow it

  bool inside(std::uint64_t ticks) {
    const bool is = std::any_of(spans.begin(), spans.end(), [&](const CaptureSpan& span) {
      return ticks >= span.begin_ticks && ticks <= span.end_ticks;
    });
    if (!is) thread.said.reset();  // what was numbered meanwhile is ignored
    return is;
  }
  void keep(const Record& record) {
    if (thread.number && thread.number != thread.said) {
      out.push_back({*thread.number, make_word(RecordKind::kSequence, thread.said ? 0 : 1, thread.forward_thread)});
      thread.said = thread.number;
    }
    out.push_back(record);
    kept = true;
  }
  void keep_if(bool wanted, const Record& record) {
    if (wanted) keep(record);
  }
  void keep_count(std::uint32_t count, const Record& record) {
    keep_if(count != 0, {record.ticks, make_word(word_kind(record.word), count, word_aux(record.word))});
  }

  void on_end(const Record& record) {
    const bool numbers = (word_aux(record.word) & detail::kTookOneNumber) != 0 && thread.number;
    keep_if(all.close_one(thread.ranges, label_of(record.word)), record);
    if (!numbers) return;
    // Where the end was kept it says so itself.
    if (kept && thread.said == thread.number) ++*thread.said;
    ++*thread.number;
  }
  void on(std::size_t at);
};

void CapturedRecords::Taking::on(std::size_t at) {
  const Record& record = records[at];
  const RecordKind kind = word_kind(record.word);
  if (kind == RecordKind::kExtra || kind == RecordKind::kOperator) {
    if (kept) out.push_back(record);
    return;
  }
  kept = false;
  // The value of a record that is nothing without one.
  const std::uint64_t value =
      at + 1 < records.size() && word_kind(records[at + 1].word) == RecordKind::kExtra ? records[at + 1].ticks : 0;
  switch (kind) {
    case RecordKind::kSequence:
      thread.number = record.ticks;
      thread.forward_thread = word_aux(record.word);
      if (word_id(record.word) != 0) thread.said.reset();
      return;
    case RecordKind::kBegin: {
      const bool wanted = inside(record.ticks);
      all.open(thread.ranges, label_of(record.word), wanted);
      return keep_if(wanted, record);
    }
    case RecordKind::kEnd:
      return on_end(record);
    case RecordKind::kLostEnds:
      return keep_count(all.close_last(thread.ranges, word_id(record.word)), record);
    case RecordKind::kForeignEnd:
      return keep_if(all.close_of_other(static_cast<std::uint32_t>(value), label_of(record.word)), record);
    case RecordKind::kAsyncBegin: {
      const bool wanted = inside(record.ticks) && all.start_end_.emplace(value, index).second;
      all.kept_open_ += wanted ? 1 : 0;
      return keep_if(wanted, record);
    }
    case RecordKind::kAsyncEnd: {
      const bool wanted = all.start_end_.erase(value) != 0;
      all.kept_open_ -= wanted ? 1 : 0;
      return keep_if(wanted, record);
    }
    case RecordKind::kLaunch:
      return keep_if(word_aux(record.word) == format::kNodeNote && inside(record.ticks), record);
    case RecordKind::kNodeBegin: {
      const bool wanted = inside(record.ticks);
      if (wanted || !thread.nodes.empty()) thread.nodes.push_back(wanted);
      all.kept_open_ += wanted ? 1 : 0;
      return keep_if(wanted, record);
    }
    case RecordKind::kNodeEnd:
      return keep_count(all.close_last(thread.nodes, word_id(record.word)), record);
    default:
      return;
  }
}

std::vector<Record> CapturedRecords::take(const format::HostRun& run, std::span<const Record> records,
                                          std::span<const CaptureSpan> spans) {
  Thread& thread = threads_[run.thread];
  const bool goes_on = run.block_sequence == thread.next.block_sequence && run.first_record == thread.next.first_record;
  if (!goes_on) thread.number.reset();
  thread.said.reset();  // so much may be missing between two runs of what is taken
  thread.next = run;
  thread.next.first_record += static_cast<std::uint32_t>(records.size());
  Taking taking{*this, thread, run.thread, records, spans, {}};
  for (std::size_t at = 0; at < records.size(); ++at) taking.on(at);
  return std::move(taking.out);
}

std::vector<CapturedRecords::Ends> CapturedRecords::close(std::uint64_t ticks) {
  std::vector<Ends> all;
  for (auto& [index, thread] : threads_) {
    std::vector<Record> ends;
    if (const std::uint32_t nodes = close_last(thread.nodes, ~0u); nodes != 0)
      ends.push_back({ticks, make_word(RecordKind::kNodeEnd, nodes)});
    for (; !thread.ranges.empty(); thread.ranges.pop_back())
      if (thread.ranges.back().kept) ends.push_back({ticks, end_word(thread.ranges.back().label)});
    for (const auto& [handle, owner] : start_end_) {
      if (owner != index) continue;
      ends.push_back({ticks, make_word(RecordKind::kAsyncEnd, 0)});
      ends.push_back({handle, make_word(RecordKind::kExtra, 0, static_cast<std::uint32_t>(ExtraKind::kUnsigned))});
    }
    if (!ends.empty()) all.push_back({thread.next, std::move(ends)});
  }
  threads_.clear();
  start_end_.clear();
  kept_open_ = 0;
  return all;
}

}  // namespace rangefinder::buffer
