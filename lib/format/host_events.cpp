// SPDX-License-Identifier: MIT
#include "format/host_events.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace rangefinder::format {
namespace {

using detail::Record;
using detail::RecordKind;

// Columns of a kHostEvents chunk.
enum : std::uint16_t {
  kHead = 1,         // tid, block sequence, first record: three varints
  kWords = 2,        // dictionary: u64 words, ids of launches cleared
  kSymbols = 3,      // a varint a record: 0 = end of the innermost range opened in this chunk, else dictionary index + 1
  kBeginLow = 4,     // ticks since the record before, low byte, of records that are no ends
  kBeginHigh = 5,    // the rest, varint
  kEndLow = 6,       // the same of ends: lengths of ranges and gaps between them have their own statistics
  kEndHigh = 7,
  kValues = 8,       // u64 a record whose ticks are a value (kExtra, kSequence)
  kLaunches = 9,     // zigzag varint of the difference to the launch before
};

constexpr std::uint64_t kMatchingEnd = 0;

bool carries_value(RecordKind kind) noexcept { return kind == RecordKind::kExtra || kind == RecordKind::kSequence; }
bool is_end(RecordKind kind) noexcept { return kind == RecordKind::kEnd || kind == RecordKind::kAsyncEnd; }
std::uint64_t begin_of_end(std::uint64_t word) noexcept {
  return word - static_cast<std::uint64_t>(RecordKind::kEnd) + static_cast<std::uint64_t>(RecordKind::kBegin);
}
constexpr std::uint64_t kWithoutId = 0xFFFFFFFFu;

Status damaged(const char* what) { return Error(ErrorCode::kUnreadable, std::string("host events: ") + what); }

}  // namespace

std::pair<std::uint64_t, std::uint64_t> tick_span(std::span<const Record> records) noexcept {
  std::pair<std::uint64_t, std::uint64_t> span{0, 0};
  bool timed = false;
  for (const Record& record : records) {
    if (carries_value(detail::word_kind(record.word))) continue;
    if (!timed) span.first = record.ticks;
    span.second = std::max(span.second, record.ticks);
    timed = true;
  }
  return span;
}

std::uint32_t HostEventPacker::symbol_of(std::uint64_t word) {
  if (slots_.empty()) slots_.resize(1024);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (word * 0x9E3779B97F4A7C15u >> 32) & mask;
  while (slots_[at].symbol != 0) {
    if (slots_[at].word == word) return slots_[at].symbol;
    at = (at + 1) & mask;
  }
  if (dictionary_.size() * 2 >= slots_.size()) {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.size() * 2, {});
    for (const Slot& slot : old) {
      if (slot.symbol == 0) continue;
      std::size_t to = (slot.word * 0x9E3779B97F4A7C15u >> 32) & (slots_.size() - 1);
      while (slots_[to].symbol != 0) to = (to + 1) & (slots_.size() - 1);
      slots_[to] = slot;
    }
    return symbol_of(word);
  }
  dictionary_.push_back(word);
  slots_[at] = {word, static_cast<std::uint32_t>(dictionary_.size())};
  return slots_[at].symbol;
}

void HostEventPacker::pack(const HostRun& run, std::span<const Record> records, ColumnWriter& out) {
  dictionary_.clear();
  std::fill(slots_.begin(), slots_.end(), Slot{});
  open_.clear();
  const std::size_t most = records.size() * base::kMaxVarintBytes;
  for (base::Bytes* bytes : {&symbols_, &low_[0], &low_[1], &high_[0], &high_[1], &values_, &launches_}) bytes->resize(most);
  std::byte* symbol = symbols_.data();
  std::byte* low[2] = {low_[0].data(), low_[1].data()};
  std::byte* high[2] = {high_[0].data(), high_[1].data()};
  std::byte* value = values_.data();
  std::byte* launch = launches_.data();
  std::uint64_t previous_ticks = 0;
  bool timed = false;
  std::uint32_t previous_launch = 0;
  for (const Record& record : records) {
    const RecordKind kind = detail::word_kind(record.word);
    std::uint64_t word = record.word;
    std::uint64_t code = kMatchingEnd;
    if (kind == RecordKind::kEnd && !open_.empty() && open_.back() == begin_of_end(word)) {
      open_.pop_back();
    } else {
      if (kind == RecordKind::kBegin) open_.push_back(word);
      if (kind == RecordKind::kLaunch) {
        const std::uint32_t id = detail::word_id(word);
        launch = base::put_varint(launch, base::zigzag(static_cast<std::int32_t>(id - previous_launch)));
        previous_launch = id;
        word &= kWithoutId;
      }
      code = symbol_of(word);
    }
    symbol = base::put_varint(symbol, code);
    if (carries_value(kind)) {
      std::memcpy(value, &record.ticks, sizeof record.ticks);
      value += sizeof record.ticks;
      continue;
    }
    if (!timed) previous_ticks = record.ticks;  // the chunk header holds it
    timed = true;
    const std::uint64_t passed = record.ticks - previous_ticks;  // wraps where the clock went back, and back again
    previous_ticks = record.ticks;
    const int which = is_end(kind) ? 1 : 0;
    *low[which]++ = static_cast<std::byte>(passed);
    high[which] = base::put_varint(high[which], passed >> 8);
  }
  head_.clear();
  base::append_varint(head_, run.tid);
  base::append_varint(head_, run.block_sequence);
  base::append_varint(head_, run.first_record);
  words_.clear();
  for (const std::uint64_t entry : dictionary_) base::append_value(words_, entry);
  const auto used = [](const base::Bytes& bytes, const std::byte* end) {
    return base::ByteView(bytes.data(), static_cast<std::size_t>(end - bytes.data()));
  };
  out.add(kHead, head_);
  out.add(kWords, words_);
  out.add(kSymbols, used(symbols_, symbol));
  out.add(kBeginLow, used(low_[0], low[0]));
  out.add(kBeginHigh, used(high_[0], high[0]));
  out.add(kEndLow, used(low_[1], low[1]));
  out.add(kEndHigh, used(high_[1], high[1]));
  out.add(kValues, used(values_, value));
  out.add(kLaunches, used(launches_, launch));
}

Result<HostEvents> unpack_host_events(base::ByteView payload, const ChunkHeader& header, ColumnReader& in) {
  if (header.rows > kMaxRows) return damaged("too many records").error();
  Status status = in.open(payload);
  if (!status) return std::move(status).error();
  base::ByteView column[kLaunches + 1];
  for (std::uint16_t id = kHead; id <= kLaunches; ++id) {
    Result<base::ByteView> bytes = in.column(id);
    if (!bytes) return std::move(bytes).error();
    column[id] = *bytes;
  }
  // A column of zeros was left out. Low bytes, symbols and varints of zeros read as zero bytes.
  struct Numbers {
    explicit Numbers(base::ByteView bytes) : reader(bytes), zeros(bytes.empty()) {}
    std::uint64_t varint() { return zeros ? 0 : reader.varint(); }
    std::uint64_t byte() { return zeros ? 0 : reader.value<std::uint8_t>(); }
    std::uint64_t word() { return zeros ? 0 : reader.value<std::uint64_t>(); }
    bool good() const { return reader.ok() && (zeros || reader.left() == 0); }
    base::ByteReader reader;
    bool zeros;
  };
  HostEvents events;
  Numbers head(column[kHead]);
  events.run.thread = static_cast<std::uint32_t>(header.subject);
  events.run.tid = static_cast<std::uint32_t>(head.varint());
  events.run.block_sequence = head.varint();
  events.run.first_record = static_cast<std::uint32_t>(head.varint());
  if (column[kWords].size() % sizeof(std::uint64_t) != 0) return damaged("dictionary of odd size").error();
  std::vector<std::uint64_t> dictionary(column[kWords].size() / sizeof(std::uint64_t));
  if (!dictionary.empty()) std::memcpy(dictionary.data(), column[kWords].data(), column[kWords].size());

  Numbers symbols(column[kSymbols]), values(column[kValues]), launches(column[kLaunches]);
  Numbers low[2] = {Numbers(column[kBeginLow]), Numbers(column[kEndLow])};
  Numbers high[2] = {Numbers(column[kBeginHigh]), Numbers(column[kEndHigh])};
  std::vector<std::uint64_t> open;
  std::uint64_t ticks = header.first;
  std::uint32_t launch = 0;
  events.records.reserve(header.rows);
  for (std::uint32_t i = 0; i < header.rows; ++i) {
    const std::uint64_t symbol = symbols.varint();
    std::uint64_t word = 0;
    if (symbol == kMatchingEnd) {
      if (open.empty()) return damaged("an end of nothing").error();
      word = open.back() - static_cast<std::uint64_t>(RecordKind::kBegin) + static_cast<std::uint64_t>(RecordKind::kEnd);
      open.pop_back();
    } else {
      if (symbol > dictionary.size()) return damaged("a symbol that the dictionary does not hold").error();
      word = dictionary[symbol - 1];
    }
    const RecordKind kind = detail::word_kind(word);
    if (kind == RecordKind::kBegin) open.push_back(word);
    if (kind == RecordKind::kEnd && symbol != kMatchingEnd && !open.empty() && open.back() == begin_of_end(word))
      return damaged("an end coded in two ways").error();
    if (kind == RecordKind::kLaunch) {
      launch += static_cast<std::uint32_t>(base::unzigzag(launches.varint()));
      word |= static_cast<std::uint64_t>(launch) << 32;
    }
    if (carries_value(kind)) {
      events.records.push_back({values.word(), word});
      continue;
    }
    const int which = is_end(kind) ? 1 : 0;
    const std::uint64_t passed = low[which].byte() | high[which].varint() << 8;
    ticks += passed;
    events.records.push_back({ticks, word});
  }
  const bool whole = symbols.good() && values.good() && launches.good() && low[0].good() && low[1].good() &&
                     high[0].good() && high[1].good() && head.reader.ok();
  if (!whole) return damaged("columns and rows do not agree").error();
  return events;
}

}  // namespace rangefinder::format
