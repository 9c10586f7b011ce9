// SPDX-License-Identifier: MIT
#include "format/host_events.hpp"

#include "format/host_columns.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rangefinder::format {
namespace {

using detail::Record;
using detail::RecordKind;

constexpr std::uint64_t kWithoutId = 0xFFFFFFFFu;
constexpr std::size_t kFirstSlots = 1024;
constexpr std::size_t kMaxSymbolBytes = 8;  // two varints, each of a number below 4 * kMaxRows
constexpr std::size_t kMaxBlockBytes = sizeof(std::uint16_t) + sizeof(std::uint64_t);

std::size_t first_slot(std::uint64_t word, std::size_t mask) noexcept {
  return (word * 0x9E3779B97F4A7C15u >> 32) & mask;
}

/// Writes a kHostBlock where it is told to; gives the first byte behind.
std::byte* put_block(std::byte* at, RecentBlocks& recent, std::uint64_t word) noexcept {
  const std::uint64_t rest = word >> kKindBits;
  const std::uint64_t block = rest & ~RecentBlocks::kFreedBit;
  const std::size_t place = RecentBlocks::place_of(block);
  const bool is_new = recent.at(place) != block;
  const auto code = static_cast<std::uint16_t>(place << 1 | (rest != block ? RecentBlocks::kFreed : 0) |
                                               (is_new ? RecentBlocks::kNew : 0));
  std::memcpy(at, &code, sizeof code);
  at += sizeof code;
  if (!is_new) return at;
  recent.at(place) = block;
  std::memcpy(at, &block, sizeof block);
  return at + sizeof block;
}

base::ByteView written(const base::Bytes& bytes, const std::byte* end) noexcept {
  return {bytes.data(), static_cast<std::size_t>(end - bytes.data())};
}

template <typename T>
void grow_to(std::vector<T>& list, std::size_t size) {
  if (list.size() < size) list.resize(size);
}

/// Writes symbols; each waits until the number of matching ends behind it is known.
class SymbolWriter {
 public:
  explicit SymbolWriter(std::byte* at) noexcept : at_(at) {}

  void add(std::uint32_t index) noexcept {
    flush();
    waiting_ = index;
    ends_ = 0;
  }
  void add_end() noexcept { ++ends_; }
  std::byte* finish() noexcept {
    flush();
    return at_;
  }

 private:
  void flush() noexcept {
    if (waiting_ == kNothing) return;
    at_ = base::put_varint(at_, waiting_ << kEndBits | std::min(ends_, kManyEnds));
    if (ends_ >= kManyEnds) at_ = base::put_varint(at_, ends_ - kManyEnds);
  }

  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  std::byte* at_;
  std::uint64_t waiting_ = kNothing;
  std::uint32_t ends_ = 0;
};

}  // namespace

TickSpan tick_span(std::span<const Record> records) noexcept {
  TickSpan span{0, 0};
  bool timed = false;
  for (const Record& record : records) {
    if (carries_value(detail::word_kind(record.word))) continue;
    if (!timed) span.first = record.ticks;
    span.second = std::max(span.second, record.ticks);
    timed = true;
  }
  return span;
}

void HostEventPacker::start(std::size_t records) {
  words_.clear();
  last_values_.clear();
  slots_.assign(kFirstSlots, {});
  grow_to(open_, records);
  grow_to(steps_, records);
  grow_to(symbols_, records * kMaxSymbolBytes);
  grow_to(times_, (records * kMaxCodeBits + 7) / 8 + sizeof(std::uint64_t));
  grow_to(values_, records * base::kMaxVarintBytes);
  grow_to(launches_, records * base::kMaxVarintBytes);
  grow_to(blocks_, records * kMaxBlockBytes);
}

void HostEventPacker::double_slots() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.size() * 2, {});
  for (const Slot& slot : old) {
    if (slot.symbol == 0) continue;
    std::size_t to = first_slot(slot.word, slots_.size() - 1);
    while (slots_[to].symbol != 0) to = (to + 1) & (slots_.size() - 1);
    slots_[to] = slot;
  }
}

std::uint32_t HostEventPacker::symbol_of(std::uint64_t word) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = first_slot(word, mask);
  while (slots_[at].symbol != 0) {
    if (slots_[at].word == word) return slots_[at].symbol - 1;
    at = (at + 1) & mask;
  }
  if (words_.size() * 2 >= slots_.size()) {
    double_slots();
    return symbol_of(word);
  }
  words_.push_back(word);
  slots_[at] = {word, static_cast<std::uint32_t>(words_.size())};
  return slots_[at].symbol - 1;
}

TickSpan HostEventPacker::pack(const HostRun& run, std::span<const Record> records, ColumnWriter& out) {
  start(records.size());
  const Steps steps = pack_symbols(records, out);
  const int zeros = steps.bits != 0 ? std::countr_zero(steps.bits) : 0;
  pack_head(run, zeros, out);
  pack_words(out);
  pack_times(steps.count, zeros, out);
  return steps.span;
}

std::byte* HostEventPacker::put_value(std::byte* at, std::uint32_t symbol, const Record& record) {
  if (is_double(record.word)) {
    std::memcpy(at, &record.ticks, sizeof record.ticks);
    return at + sizeof record.ticks;
  }
  if (last_values_.size() <= symbol) last_values_.resize(symbol + 1);
  const std::uint64_t passed = record.ticks - last_values_[symbol];
  last_values_[symbol] = record.ticks;
  return base::put_varint(at, base::zigzag(static_cast<std::int64_t>(passed)));
}

/// Everything but the times, which are noted in steps_: two loops of few variables each are faster than one of many.
HostEventPacker::Steps HostEventPacker::pack_symbols(std::span<const Record> records, ColumnWriter& out) {
  SymbolWriter symbols(symbols_.data());
  std::byte* value = values_.data();
  std::byte* launch = launches_.data();
  std::byte* block = blocks_.data();
  RecentBlocks recent;
  std::uint32_t previous_launch = 0;
  std::uint64_t previous_ticks = 0;
  Open* const bottom = open_.data();
  Open* top = bottom;
  Step* const first_step = steps_.data();
  Step* step = first_step;
  Steps found;
  for (const Record& record : records) {
    const RecordKind kind = detail::word_kind(record.word);
    std::uint32_t model = 0, symbol = 0;
    if (top != bottom && top[-1].end_word == record.word) {
      model = HostModels::before_end((--top)->symbol);
      symbols.add_end();
    } else {
      std::uint64_t word = record.word;
      if (kind == RecordKind::kLaunch) {
        const std::uint32_t id = detail::word_id(word);
        launch = base::put_varint(launch, base::zigzag(static_cast<std::int32_t>(id - previous_launch)));
        previous_launch = id;
        word &= kWithoutId;
      } else if (kind == RecordKind::kHostBlock) {
        block = put_block(block, recent, word);
        word = detail::make_word(kind, 0);
      }
      if (top != bottom && word == with_number(top[-1].end_word)) --top;
      const Slot& likely = slots_[first_slot(word, slots_.size() - 1)];
      symbol = likely.word == word && likely.symbol != 0 ? likely.symbol - 1 : symbol_of(word);
      if (kind == RecordKind::kBegin) *top++ = {end_of_begin(word), symbol};
      model = HostModels::before(symbol);
      symbols.add(symbol);
    }
    if (carries_value(kind)) {
      value = put_value(value, symbol, record);
      continue;
    }
    if (step == first_step) found.span.first = previous_ticks = record.ticks;
    const std::uint64_t passed = record.ticks - previous_ticks;  // wraps where the clock went back, and back again
    previous_ticks = record.ticks;
    found.bits |= passed;
    found.span.second = std::max(found.span.second, record.ticks);
    *step++ = {passed, model};
  }
  found.count = static_cast<std::size_t>(step - first_step);
  out.add(kHostSymbols, written(symbols_, symbols.finish()), base::Compressor::Matches::kLong);
  out.add(kHostValues, written(values_, value));
  out.add(kHostLaunches, written(launches_, launch));
  out.add_plain(kHostBlocks, written(blocks_, block));  // packing it again costs more than all else does
  return found;
}

void HostEventPacker::pack_head(const HostRun& run, int zeros, ColumnWriter& out) {
  small_.clear();
  base::append_varint(small_, run.tid);
  base::append_varint(small_, run.block_sequence);
  base::append_varint(small_, run.first_record);
  base::append_varint(small_, static_cast<std::uint64_t>(zeros));
  out.add_plain(kHostHead, small_);
}

void HostEventPacker::pack_words(ColumnWriter& out) {
  small_.clear();
  std::uint32_t previous_id = 0;
  for (const std::uint64_t word : words_) {
    const std::uint32_t id = detail::word_id(word);
    base::append_varint(small_, static_cast<std::uint64_t>(detail::word_kind(word)));
    base::append_varint(small_, detail::word_aux(word));
    base::append_varint(small_, base::zigzag(static_cast<std::int32_t>(id - previous_id)));
    previous_id = id;
  }
  out.add(kHostWords, small_);
}

void HostEventPacker::pack_times(std::size_t count, int zeros, ColumnWriter& out) {
  HostModels models(models_, words_);
  BitWriter bits(times_.data());
  for (const Step& step : std::span(steps_.data(), count)) {
    models.use(step.model, [&](TimeModel& model) {
      put_time(bits, model, step.passed >> zeros);
      return 0;
    });
  }
  out.add_plain(kHostTimes, written(times_, bits.finish()));
}

}  // namespace rangefinder::format
