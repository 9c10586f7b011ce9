// SPDX-License-Identifier: MIT
#include "format/host_columns.hpp"
#include "format/host_events.hpp"

#include <array>
#include <optional>
#include <string>

namespace rangefinder::format {
namespace {

using detail::Record;
using detail::RecordKind;

using Columns = std::array<base::ByteView, kHostBlocks + 1>;

Error damaged(const char* what) { return Error(ErrorCode::kUnreadable, std::string("host events: ") + what); }

/// A column of numbers; one that is missing reads as zeros.
class Numbers {
 public:
  explicit Numbers(base::ByteView bytes) noexcept : reader_(bytes), zeros_(bytes.empty()) {}
  std::uint64_t varint() noexcept { return zeros_ ? 0 : reader_.varint(); }
  std::uint64_t difference() noexcept { return static_cast<std::uint64_t>(base::unzigzag(varint())); }
  std::uint64_t word() noexcept { return value<std::uint64_t>(); }
  template <typename T>
  T value() noexcept {
    return zeros_ ? T{0} : reader_.value<T>();
  }
  bool ok() const noexcept { return reader_.ok(); }
  bool all_read() const noexcept { return reader_.ok() && reader_.left() == 0; }

 private:
  base::ByteReader reader_;
  bool zeros_;
};

std::optional<std::vector<std::uint64_t>> read_words(base::ByteView column) {
  if (column.empty()) return std::vector<std::uint64_t>{0};  // left out for its zeros: no two words are the same
  base::ByteReader reader(column);
  std::vector<std::uint64_t> words;
  std::uint32_t id = 0;
  while (reader.left() != 0) {
    const std::uint64_t kind = reader.varint();
    const std::uint64_t aux = reader.varint();
    id += static_cast<std::uint32_t>(base::unzigzag(reader.varint()));
    if (!reader.ok() || kind > 0xFF || aux > 0xFFFFFF || words.size() == kMaxRows) return std::nullopt;
    words.push_back(detail::make_word(static_cast<RecordKind>(kind), id, static_cast<std::uint32_t>(aux)));
  }
  return words;
}

/// Undoes HostEventPacker::pack, record by record.
class Unpacker {
 public:
  Unpacker(const Columns& columns, std::vector<std::uint64_t> words, std::uint64_t first_ticks, unsigned zeros)
      : words_(std::move(words)),
        symbols_(columns[kHostSymbols]),
        values_(columns[kHostValues]),
        launches_(columns[kHostLaunches]),
        blocks_(columns[kHostBlocks]),
        times_(columns[kHostTimes]),
        no_times_(columns[kHostTimes].empty()),
        zeros_(zeros),
        ticks_(first_ticks),
        models_(memory_, words_) {}

  /// False when what is there cannot follow what came before.
  bool next(Record& out) {
    std::uint32_t model = 0, index = 0;
    if (ends_ != 0) {
      --ends_;
      out.word = end_of_begin(words_[open_.back()]);
      model = HostModels::before_end(open_.back());
      open_.pop_back();
    } else {
      if (!next_symbol(index)) return false;
      out.word = words_[index];
      model = HostModels::before(index);
      if (detail::word_kind(out.word) == RecordKind::kLaunch) {
        launch_ += static_cast<std::uint32_t>(base::unzigzag(launches_.varint()));
        out.word |= static_cast<std::uint64_t>(launch_) << 32;
      } else if (detail::word_kind(out.word) == RecordKind::kHostBlock) {
        out.word |= next_block() << kKindBits;
      }
    }
    if (carries_value(detail::word_kind(out.word))) {
      out.ticks = is_double(out.word) ? values_.word() : last_values_[index] += values_.difference();
      return true;
    }
    ticks_ += models_.use(model, [&](TimeModel& chosen) { return get_time(times_, chosen); }) << zeros_;
    out.ticks = ticks_;
    return true;
  }

  bool all_read() const noexcept {
    return ends_ == 0 && symbols_.all_read() && values_.all_read() && launches_.all_read() && blocks_.all_read() &&
           (no_times_ || times_.at_end());
  }

 private:
  std::uint64_t next_block() noexcept {
    const auto code = blocks_.value<std::uint16_t>();
    std::uint64_t& block = recent_.at(code >> 1);
    if ((code & RecentBlocks::kNew) != 0) block = blocks_.word();
    return (code & RecentBlocks::kFreed) != 0 ? block | RecentBlocks::kFreedBit : block;
  }

  bool next_symbol(std::uint32_t& index) {
    const std::uint64_t code = symbols_.varint();
    if (code >> kEndBits >= words_.size()) return false;
    index = static_cast<std::uint32_t>(code >> kEndBits);
    const std::uint64_t word = words_[index];
    if (detail::word_kind(word) == RecordKind::kBegin) open_.push_back(index);
    if (!open_.empty() && word == with_number(end_of_begin(words_[open_.back()]))) open_.pop_back();
    std::uint64_t ends = code & kManyEnds;
    if (ends == kManyEnds) {
      const std::uint64_t more = symbols_.varint();
      if (more > open_.size()) return false;  // before the sum can overflow
      ends += more;
    }
    if (ends > open_.size()) return false;  // an end of nothing
    ends_ = ends;
    return true;
  }

  std::vector<std::uint64_t> words_;
  Numbers symbols_, values_, launches_, blocks_;
  std::vector<std::uint64_t> last_values_ = std::vector<std::uint64_t>(words_.size());  // by symbol
  RecentBlocks recent_;
  BitReader times_;
  bool no_times_;  // the column is missing: all its bits are zero
  unsigned zeros_;
  std::uint64_t ticks_;
  std::vector<TimeModel> memory_;
  HostModels models_;
  std::vector<std::uint32_t> open_;  // indices of the begins
  std::uint64_t ends_ = 0;           // that come before the next symbol
  std::uint32_t launch_ = 0;
};

}  // namespace

Result<HostEvents> unpack_host_events(base::ByteView payload, const ChunkHeader& header, ColumnReader& in) {
  if (header.rows > kMaxRows) return damaged("too many records");
  Status status = in.open(payload);
  if (!status) return std::move(status).error();
  Columns columns;
  for (std::size_t id = kHostHead; id < columns.size(); ++id) {
    // No column has more than 16 bytes a row, but for the head.
    Result<base::ByteView> bytes = in.column(static_cast<std::uint16_t>(id), std::size_t{16} * (header.rows + 4));
    if (!bytes) return std::move(bytes).error();
    columns[id] = *bytes;
  }
  HostEvents events;
  Numbers head(columns[kHostHead]);
  events.run.thread = static_cast<std::uint32_t>(header.subject);
  events.run.tid = static_cast<std::uint32_t>(head.varint());
  events.run.block_sequence = head.varint();
  events.run.first_record = static_cast<std::uint32_t>(head.varint());
  const std::uint64_t zeros = head.varint();
  if (!head.ok() || zeros > 63) return damaged("the head cannot be read");
  std::optional<std::vector<std::uint64_t>> words = read_words(columns[kHostWords]);
  if (!words) return damaged("the dictionary cannot be read");
  Unpacker unpacker(columns, std::move(*words), header.first, static_cast<unsigned>(zeros));
  events.records.resize(header.rows);
  for (Record& record : events.records) {
    if (!unpacker.next(record)) return damaged("a symbol that cannot stand there");
  }
  if (!unpacker.all_read()) return damaged("columns and rows do not agree");
  return events;
}

}  // namespace rangefinder::format
