// SPDX-License-Identifier: MIT
#include "compare/baseline_file.hpp"

#include "base/checksum.hpp"
#include "base/compress.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <limits>
#include <utility>

namespace rangefinder::compare {
namespace {

constexpr std::string_view kMagic = "rfbase\r\n";  // a transfer as text breaks it
constexpr std::uint32_t kVersion = 1;
constexpr int kLevel = 12;  // of Zstandard: a baseline is written once and stored for long
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof kVersion + sizeof(std::uint64_t);
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);
/// A frame of Zstandard stands for at most so many times its bytes in what save_baseline_file writes, and some more: a
/// file cannot ask for memory out of all proportion.
constexpr std::uint64_t kMostPerByte = 100'000;

/// Appends fields.
class Writer {
 public:
  void value(std::uint64_t number) { base::append_varint(bytes_, number); }
  void value(std::int64_t number) { value(base::zigzag(number)); }
  void value(std::uint32_t number) { value(std::uint64_t{number}); }
  void value(bool is) { value(std::uint64_t{is}); }
  void value(const std::string& text) {
    value(text.size());
    base::append_bytes(bytes_, base::as_bytes(text));
  }
  template <typename T>
  bool count(const std::vector<T>& list) {
    value(list.size());
    return true;
  }
  base::Bytes bytes_;
};

/// Reads the same fields. After the first that cannot be, ok() is false.
class Reader {
 public:
  /// Lists take at most `memory` bytes.
  Reader(base::ByteView bytes, std::uint64_t memory) noexcept : bytes_(bytes), memory_(memory) {}

  void value(std::uint64_t& number) { number = bytes_.varint(); }
  void value(std::int64_t& number) { number = base::unzigzag(bytes_.varint()); }
  void value(std::uint32_t& number) {
    const std::uint64_t read = bytes_.varint();
    if (read > std::numeric_limits<std::uint32_t>::max()) ok_ = false;
    number = static_cast<std::uint32_t>(read);
  }
  void value(bool& is) { is = bytes_.varint() != 0; }
  void value(std::string& text) {
    const std::uint64_t size = bytes_.varint();
    text = base::as_text(bytes_.bytes(std::min<std::uint64_t>(size, bytes_.left() + 1)));
  }
  template <typename T>
  bool count(std::vector<T>& list) {
    const std::uint64_t size = bytes_.varint();
    // An entry takes a byte of the file at least.
    if (size > bytes_.left() || size > memory_ / sizeof(T)) ok_ = false;
    if (!ok()) return false;
    memory_ -= size * sizeof(T);
    list.resize(size);
    return true;
  }
  bool ok() const noexcept { return ok_ && bytes_.ok(); }
  bool at_end() const noexcept { return bytes_.left() == 0; }

 private:
  base::ByteReader bytes_;
  std::uint64_t memory_;
  bool ok_ = true;
};

// What is read and written, in one place: the fields of each struct, by either of the two above. A list is columns: the
// same field of all entries stands together, which compresses well.

template <typename Coder, typename Entry, typename Member>
void column(Coder& coder, std::vector<Entry>& list, Member member) {
  for (Entry& entry : list) coder.value(entry.*member);
}

template <typename Coder>
void code(Coder& coder, std::vector<std::string>& texts) {
  if (!coder.count(texts)) return;
  for (std::string& text : texts) coder.value(text);
}

/// `amounts(entry)` of all entries.
template <typename Coder, typename Entry, typename Get>
void code_amounts(Coder& coder, std::vector<Entry>& list, Get amounts) {
  const auto field = [&](auto member) {
    for (Entry& entry : list) coder.value(amounts(entry).*member);
  };
  field(&Amounts::calls);
  field(&Amounts::ops);
  field(&Amounts::work_ns);
  field(&Amounts::hidden_ns);
  field(&Amounts::host_ns);
  field(&Amounts::idle_ns);
}

template <typename Coder>
void code_steps(Coder& coder, std::vector<RunStep>& steps) {
  if (!coder.count(steps)) return;
  column(coder, steps, &RunStep::number);
  column(coder, steps, &RunStep::warm_up);
  column(coder, steps, &RunStep::skipped);
  column(coder, steps, &RunStep::places);
  column(coder, steps, &RunStep::peak_bytes);
  column(coder, steps, &RunStep::computation_ns);
  column(coder, steps, &RunStep::exposed_communication_ns);
  column(coder, steps, &RunStep::exposed_memcpy_ns);
  column(coder, steps, &RunStep::items);
}

template <typename Coder>
void code_kind(Coder& coder, SubjectKind& kind) {
  auto number = static_cast<std::uint64_t>(kind);
  coder.value(number);
  kind = static_cast<SubjectKind>(std::min<std::uint64_t>(number, kSubjectKinds - 1));
}

template <typename Coder>
void code_subjects(Coder& coder, std::vector<Subject>& subjects) {
  if (!coder.count(subjects)) return;
  for (Subject& subject : subjects) {
    code_kind(coder, subject.kind);
    coder.value(subject.index);
    if (!coder.count(subject.by_step)) return;
    for (auto& entry : subject.by_step) coder.value(entry.first);
    code_amounts(coder, subject.by_step, [](auto& entry) -> Amounts& { return entry.second; });
  }
}

template <typename Coder>
void code_cells(Coder& coder, std::vector<Cell>& cells) {
  if (!coder.count(cells)) return;
  column(coder, cells, &Cell::path);
  column(coder, cells, &Cell::op);
  column(coder, cells, &Cell::kernel_family);
  column(coder, cells, &Cell::collective);
  column(coder, cells, &Cell::kernel);
  code_amounts(coder, cells, [](Cell& cell) -> Amounts& { return cell.amounts; });
}

template <typename Coder>
void code_memory(Coder& coder, std::vector<MemoryShare>& shares) {
  if (!coder.count(shares)) return;
  column(coder, shares, &MemoryShare::by_operator);
  column(coder, shares, &MemoryShare::name);
  column(coder, shares, &MemoryShare::bytes);
}

template <typename Coder>
void code(Coder& coder, Run& run) {
  coder.value(run.name);
  code(coder, run.hardware.devices);
  coder.value(run.hardware.cpu);
  coder.value(run.hardware.driver);
  coder.value(run.has_steps);
  code_steps(coder, run.steps);
  if (!coder.count(run.paths)) return;
  column(coder, run.paths, &PathNode::around);
  column(coder, run.paths, &PathNode::name);
  code(coder, run.operators);
  code(coder, run.kernel_families);
  code(coder, run.collectives);
  code_subjects(coder, run.subjects);
  code_cells(coder, run.cells);
  code_memory(coder, run.peak_memory);
  code(coder, run.notes);
}

/// Whether all that refers to a row refers to one that is there, in the order that the model has.
bool refers_to_rows(const Run& run) noexcept {
  const auto in = [](std::uint32_t index, std::size_t size) { return index == kNone || index < size; };
  for (std::size_t i = 0; i < run.paths.size(); ++i)
    if (!in(run.paths[i].around, i)) return false;
  for (const Subject& subject : run.subjects) {
    const std::array<std::size_t, kSubjectKinds> sizes{1, run.paths.size(), run.operators.size(),
                                                       run.kernel_families.size(), run.collectives.size()};
    if (subject.index >= sizes[static_cast<std::size_t>(subject.kind)]) return false;
    for (std::size_t i = 0; i < subject.by_step.size(); ++i) {
      if (subject.by_step[i].first >= run.steps.size()) return false;
      if (i > 0 && subject.by_step[i].first <= subject.by_step[i - 1].first) return false;
    }
  }
  return std::all_of(run.cells.begin(), run.cells.end(), [&](const Cell& cell) {
    return in(cell.path, run.paths.size()) && in(cell.op, run.operators.size()) &&
           in(cell.kernel_family, run.kernel_families.size()) && in(cell.collective, run.collectives.size());
  });
}

Error damaged(std::string_view what) {
  return {ErrorCode::kUnreadable, "damaged baseline: " + std::string(what) + "; save it again with gate --save"};
}

template <std::integral T>
T value_at(base::ByteView bytes, std::size_t at) noexcept {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Bytes of the runs, or why there are none.
Result<base::Bytes> unpacked(base::ByteView bytes, std::uint64_t limit) {
  if (bytes.size() < kMagic.size() || base::as_text(bytes.first(kMagic.size())) != kMagic)
    return Error(ErrorCode::kUnreadable, "not a baseline: it does not begin as one");
  if (bytes.size() < kHeaderBytes + kChecksumBytes)
    return damaged("it ends after " + std::to_string(bytes.size()) + " bytes");
  const base::ByteView checked = bytes.first(bytes.size() - kChecksumBytes);
  if (value_at<std::uint64_t>(bytes, checked.size()) != base::checksum(checked))
    return damaged("its checksum does not match its " + std::to_string(bytes.size()) + " bytes");
  const auto version = value_at<std::uint32_t>(bytes, kMagic.size());
  if (version != kVersion)
    return Error(ErrorCode::kUnsupported, "baseline of version " + std::to_string(version) +
                                              "; this build reads version " + std::to_string(kVersion) +
                                              "; save it again with gate --save");
  const auto size = value_at<std::uint64_t>(bytes, kMagic.size() + sizeof version);
  const base::ByteView packed = checked.subspan(kHeaderBytes);
  if (size / kMostPerByte > packed.size()) return damaged("it claims " + std::to_string(size) + " bytes of runs");
  if (size > limit)
    return Error(ErrorCode::kTooLarge, "baseline of " + std::to_string(size) + " bytes; the limit is " +
                                           std::to_string(limit) + ", which --max-memory sets");
  if (packed.size() == size) return base::Bytes(packed.begin(), packed.end());  // too few to be packed
  base::Bytes raw(size);
  if (!base::Decompressor().decompress(packed, raw)) return damaged("its runs cannot be unpacked");
  return raw;
}

}  // namespace

base::Bytes baseline_bytes(std::span<const Run> runs) {
  std::vector<Run> copies(runs.begin(), runs.end());
  Writer writer;
  writer.count(copies);
  for (Run& run : copies) code(writer, run);
  const base::ByteView magic = base::as_bytes(kMagic);
  base::Bytes out(magic.begin(), magic.end());
  base::append_value(out, kVersion);
  base::append_value(out, static_cast<std::uint64_t>(writer.bytes_.size()));
  if (base::Compressor().append_compressed(out, writer.bytes_, kLevel) == 0) base::append_bytes(out, writer.bytes_);
  base::append_value(out, base::checksum(out));
  return out;
}

Result<std::vector<Run>> runs_of_baseline(base::ByteView bytes, std::uint64_t limit) {
  const Result<base::Bytes> raw = unpacked(bytes, limit);
  if (!raw) return raw.error();
  Reader reader(*raw, limit);
  std::vector<Run> runs;
  if (reader.count(runs))
    for (Run& run : runs) code(reader, run);
  if (!reader.ok() || !reader.at_end() || !std::all_of(runs.begin(), runs.end(), refers_to_rows))
    return damaged("its runs are not what they should be");
  return runs;
}

Status save_baseline_file(const std::string& path, std::span<const Run> runs, bool replace) {
  Result<base::AtomicFile> file = base::AtomicFile::create(path, replace);
  if (!file) return std::move(file).error();
  if (Status written = file->write(baseline_bytes(runs)); !written) return written;
  return file->commit();
}

Result<std::vector<Run>> read_baseline_file(const std::string& path, std::uint64_t limit) {
  const Result<base::Bytes> bytes = base::read_whole_file(path, limit);
  if (!bytes) return bytes.error();
  Result<std::vector<Run>> runs = runs_of_baseline(*bytes, limit);
  if (!runs) return std::move(runs).error().with_context(base::printable(path));
  return runs;
}

bool is_baseline_file(const std::string& path) noexcept {
  if (base::is_special(path)) return false;
  const Result<base::Fd> fd = base::open_for_reading(path);
  if (!fd) return false;
  std::array<std::byte, kMagic.size()> begin{};
  const Result<std::size_t> read = base::read_at(*fd, begin, 0, path);
  return read.ok() && *read == begin.size() && base::as_text(begin) == kMagic;
}

}  // namespace rangefinder::compare
