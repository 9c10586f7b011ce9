// SPDX-License-Identifier: MIT
#include "support/capture_builder.hpp"

#include "base/file.hpp"
#include "format/chunk.hpp"
#include "format/columns.hpp"
#include "format/field_packer.hpp"
#include "format/host_events.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>

namespace rangefinder::testing {
namespace {

using detail::ExtraKind;
using detail::make_word;
using detail::Record;
using detail::RecordKind;
using format::ChunkKind;

constexpr std::uint64_t kTicksAtStart = 5'000'000'000;

std::uint64_t ticks(std::int64_t ns) { return kTicksAtStart + static_cast<std::uint64_t>(ns); }
std::int64_t realtime(std::int64_t ns) { return CaptureBuilder::at(ns) + CaptureBuilder::kRealtimeOffset; }

/// Packs chunks one behind the other.
class ChunkWriter {
 public:
  format::ColumnWriter& columns() { return columns_; }

  base::Bytes finish(ChunkKind kind, std::size_t rows, std::uint64_t subject = 0, format::TickSpan span = {0, 0}) {
    base::Bytes payload, chunk;
    columns_.finish(payload);
    format::ChunkHeader header{};
    header.kind = static_cast<std::uint16_t>(kind);
    header.rows = static_cast<std::uint32_t>(rows);
    header.subject = subject;
    header.first = span.first;
    header.last = span.second;
    header.sequence = sequence_++;
    format::append_chunk(chunk, header, payload);
    return chunk;
  }
  template <typename Row>
  base::Bytes rows(std::span<const Row> rows) {
    auto packer = format::FieldPacker::of<Row>();
    packer.add(rows);
    const format::ChunkHeader header = packer.header();
    packer.finish(columns_);
    return finish(Row::kKind, rows.size(), 0, {header.first, header.last});
  }
  base::Bytes text(ChunkKind kind, const std::vector<format::TextRow>& rows) {
    format::pack_text(rows, columns_);
    return finish(kind, rows.size());
  }

 private:
  base::Compressor compressor_;
  format::ColumnWriter columns_{compressor_};
  std::uint64_t sequence_ = 0;
};

void append(base::Bytes& out, const base::Bytes& chunk) { base::append_bytes(out, chunk); }

}  // namespace

CaptureBuilder::CaptureBuilder() { on_thread(1, "main"); }

format::NameId CaptureBuilder::name(std::string_view text) {
  const auto next = static_cast<format::NameId>(names_.size() + 1);
  return names_.try_emplace(std::string(text), next).first->second;
}

std::uint32_t CaptureBuilder::category(std::string_view name) {
  if (name.empty()) return 0;
  const auto next = static_cast<std::uint32_t>(categories_.size() + 1);
  return categories_.try_emplace(std::string(name), next).first->second;
}

std::uint32_t CaptureBuilder::thread_index(std::uint32_t tid) {
  const auto found = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.tid == tid; });
  const auto index = static_cast<std::uint32_t>(found - threads_.begin());
  if (found == threads_.end()) threads_.push_back({tid, 0, {}});
  return index;
}

CaptureBuilder& CaptureBuilder::on_thread(std::uint32_t tid, std::string_view text) {
  thread_ = thread_index(tid);
  if (!text.empty()) thread().name = name(text);
  return *this;
}
CaptureBuilder& CaptureBuilder::on_device(std::uint32_t id) { return device_ = id, *this; }
CaptureBuilder& CaptureBuilder::on_context(std::uint32_t id) { return context_ = id, *this; }
CaptureBuilder& CaptureBuilder::on_stream(std::uint32_t id) { return stream_ = id, *this; }

// ---- host events ------------------------------------------------------------------------------------------------

CaptureBuilder::Event& CaptureBuilder::add(Event event) {
  thread().events.push_back(std::move(event));
  return thread().events.back();
}

CaptureBuilder& CaptureBuilder::range(std::string_view text, std::int64_t begin_ns, std::int64_t end_ns,
                                      std::string_view group) {
  add({begin_ns, end_ns, RecordKind::kBegin, name(text), category(group)});
  return *this;
}
CaptureBuilder& CaptureBuilder::open_range(std::string_view text, std::int64_t begin_ns) {
  add({begin_ns, begin_ns, RecordKind::kBegin, name(text)}).never_ends = true;
  return *this;
}
CaptureBuilder& CaptureBuilder::range_in_parts(std::string_view text,
                                               std::initializer_list<std::pair<std::int64_t, std::int64_t>> parts) {
  for (const auto* part = parts.begin(); part != parts.end(); ++part)
    range_part(text, part->first, part->second, part == parts.begin() ? -1 : part[-1].second, part + 1 == parts.end());
  return *this;
}
CaptureBuilder& CaptureBuilder::range_part(std::string_view text, std::int64_t begin_ns, std::int64_t end_ns,
                                           std::int64_t since_ns, bool is_last) {
  const bool is_first = since_ns < 0;
  add({begin_ns, end_ns, RecordKind::kBegin, name(text), is_first ? 0 : detail::kResumed}).suspended = !is_last;
  if (!is_first) value({ExtraKind::kUnsigned, ticks(since_ns)});
  return *this;
}
CaptureBuilder& CaptureBuilder::start_end(std::string_view text, std::int64_t begin_ns, std::int64_t end_ns) {
  const std::uint64_t handle = next_handle_++;
  add({begin_ns, begin_ns, RecordKind::kAsyncBegin, name(text), 0, handle});
  add({end_ns, end_ns, RecordKind::kAsyncEnd, 0, 0, handle});
  return *this;
}
CaptureBuilder& CaptureBuilder::range_ended_on(std::uint32_t tid, std::string_view text, std::int64_t begin_ns,
                                               std::int64_t end_ns) {
  const auto owner = static_cast<std::uint32_t>(thread_);
  add({begin_ns, begin_ns, RecordKind::kBegin, name(text)}).never_ends = true;
  threads_[thread_index(tid)].events.push_back(
      {end_ns, end_ns, RecordKind::kForeignEnd, name(text), 0, owner, false, {}});
  return *this;
}
CaptureBuilder& CaptureBuilder::node(std::string_view text, std::int64_t begin_ns, std::int64_t end_ns,
                                     std::int64_t sequence, std::uint32_t forward_thread) {
  Event& event = add({begin_ns, end_ns, RecordKind::kNodeBegin, name(text), forward_thread});
  if (sequence >= 0) event.values.push_back({ExtraKind::kSigned, static_cast<std::uint64_t>(sequence)});
  return *this;
}
CaptureBuilder& CaptureBuilder::numbers(std::int64_t time_ns, std::uint64_t next, std::uint32_t forward_thread,
                                        bool resumed) {
  add({time_ns, time_ns, RecordKind::kSequence, resumed ? 1u : 0u, forward_thread, next});
  return *this;
}
CaptureBuilder& CaptureBuilder::cpu_count(std::int64_t time_ns, CpuEvent event, std::int64_t count) {
  add({time_ns, time_ns, RecordKind::kThreadEvent, 0, static_cast<std::uint32_t>(event),
       static_cast<std::uint64_t>(count)});
  return *this;
}
CaptureBuilder& CaptureBuilder::mark(std::string_view text, std::int64_t time_ns, std::string_view group) {
  add({time_ns, time_ns, RecordKind::kMark, name(text), category(group)});
  return *this;
}
CaptureBuilder& CaptureBuilder::counter(std::string_view text, std::int64_t time_ns, double number) {
  add({time_ns, time_ns, RecordKind::kCounter, name(text)});
  return payload(number);
}
CaptureBuilder& CaptureBuilder::counter(std::string_view text, std::int64_t time_ns, std::int64_t number) {
  add({time_ns, time_ns, RecordKind::kCounter, name(text)});
  return value({ExtraKind::kSigned, static_cast<std::uint64_t>(number)});
}
CaptureBuilder& CaptureBuilder::memory(MemoryAction action, std::int64_t time_ns, std::int32_t device,
                                       std::initializer_list<std::uint64_t> values) {
  Event& event = add(
      {time_ns, time_ns, RecordKind::kMemory, static_cast<std::uint32_t>(device), static_cast<std::uint32_t>(action)});
  for (const std::uint64_t number : values) event.values.push_back({ExtraKind::kUnsigned, number});
  return *this;
}
CaptureBuilder& CaptureBuilder::step(std::uint32_t number, std::int64_t time_ns, bool recorded) {
  add({time_ns, time_ns, RecordKind::kStep, number, recorded ? 0 : detail::kStepNotRecorded});
  return *this;
}
CaptureBuilder& CaptureBuilder::collective(const detail::CollectiveCall& call, std::string_view group, int ranks,
                                           std::int64_t time_ns) {
  const auto lines = [](std::initializer_list<std::string_view> texts) {
    std::string out;
    for (const std::string_view text : texts) out.append(text).append("\n");
    return out;
  };
  const std::string size = std::to_string(ranks), last = std::to_string(ranks - 1);
  const std::string signature =
      lines({std::to_string(call.channels), call.dtype, call.algorithm, call.protocol, call.name});
  Event& event = add({time_ns, time_ns, RecordKind::kCollective, name(signature),
                      static_cast<std::uint32_t>(call.kind) | static_cast<std::uint32_t>(call.source) << 8});
  const auto put = [&](ExtraKind kind, std::int64_t bits) {
    event.values.push_back({kind, static_cast<std::uint64_t>(bits)});
  };
  put(ExtraKind::kUnsigned, ++last_collective_);
  put(ExtraKind::kText, name(lines({size, "0", "0-" + last}) + std::string(group) + "\n"));
  put(ExtraKind::kSigned, call.number);
  put(ExtraKind::kSigned, call.elements_in);
  put(ExtraKind::kSigned, call.elements_out);
  put(ExtraKind::kSigned, call.peer);
  put(ExtraKind::kText, name(call.in_splits));
  put(ExtraKind::kText, name(call.out_splits));
  return *this;
}
CaptureBuilder& CaptureBuilder::phase(detail::CollectivePhase phase, std::int64_t time_ns) {
  add({time_ns, time_ns, RecordKind::kCollectivePhase, 0, static_cast<std::uint32_t>(phase)});
  return value({ExtraKind::kUnsigned, last_collective_});
}
CaptureBuilder& CaptureBuilder::value(Value value) {
  thread().events.back().values.push_back(value);
  return *this;
}
CaptureBuilder& CaptureBuilder::facts(std::int64_t sequence, std::uint32_t forward_thread, std::string_view inputs) {
  const format::NameId text = inputs.empty() ? 0 : name(inputs);
  thread().events.back().facts = {static_cast<std::uint64_t>(sequence),
                                  make_word(RecordKind::kOperator, text, forward_thread)};
  return *this;
}

CaptureBuilder& CaptureBuilder::payload(std::uint64_t number) { return value({ExtraKind::kUnsigned, number}); }
CaptureBuilder& CaptureBuilder::payload(double number) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return value({ExtraKind::kDouble, bits});
}
CaptureBuilder& CaptureBuilder::payload(std::string_view text) { return value({ExtraKind::kText, name(text)}); }

CaptureBuilder& CaptureBuilder::launch(std::int64_t time_ns, std::uint32_t callback) {
  correlation_ = next_correlation_++;
  add({time_ns, time_ns, RecordKind::kLaunch, correlation_, callback});
  return *this;
}

// ---- device rows ------------------------------------------------------------------------------------------------

template <typename Row>
void CaptureBuilder::place(Row& row, std::int64_t begin_ns, std::int64_t end_ns) const {
  row.begin_ns = realtime(begin_ns);
  row.end_ns = realtime(end_ns);
  row.correlation = correlation_;
  row.device = device_;
  row.context = context_;
  row.stream = stream_;
}

CaptureBuilder& CaptureBuilder::kernel(std::string_view text, std::int64_t begin_ns, std::int64_t end_ns) {
  contexts_[context_] = device_;
  format::KernelRow& row = kernels_.emplace_back(format::KernelRow{});
  place(row, begin_ns, end_ns);
  row.name = name(text);
  row.grid_x = 264, row.grid_y = row.grid_z = 1;
  row.block_x = 128, row.block_y = row.block_z = 1;
  row.registers_per_thread = 32;
  return *this;
}
CaptureBuilder& CaptureBuilder::memcpy(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes,
                                       std::uint32_t kind) {
  contexts_[context_] = device_;
  format::MemcpyRow& row = memcpys_.emplace_back(format::MemcpyRow{});
  place(row, begin_ns, end_ns);
  row.bytes = bytes;
  row.copy_kind = kind;
  row.source_memory = kind == 1 ? 2 : 3;
  row.target_memory = kind == 1 ? 3 : 2;
  return *this;
}
CaptureBuilder& CaptureBuilder::memset(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes) {
  contexts_[context_] = device_;
  format::MemsetRow& row = memsets_.emplace_back(format::MemsetRow{});
  place(row, begin_ns, end_ns);
  row.bytes = bytes;
  row.memory = 3;
  return *this;
}
CaptureBuilder& CaptureBuilder::call(std::string_view text, std::int64_t begin_ns, std::int64_t end_ns,
                                     format::ApiDomain domain) {
  format::ApiRow row{};
  row.begin_ns = realtime(begin_ns);
  row.end_ns = realtime(end_ns);
  row.correlation = correlation_;
  row.tid = thread().tid;
  row.name = name(text);
  row.domain = static_cast<std::uint32_t>(domain);
  row.callback_id = 211;
  calls_.push_back(row);
  return *this;
}
CaptureBuilder& CaptureBuilder::sync(std::uint32_t type, std::int64_t begin_ns, std::int64_t end_ns) {
  contexts_[context_] = device_;
  format::SyncRow row{};
  row.begin_ns = realtime(begin_ns);
  row.end_ns = realtime(end_ns);
  row.correlation = correlation_;
  row.context = context_;
  row.stream = type == 4 ? 0xFFFFFFFFu : stream_;
  row.type = type;
  syncs_.push_back(row);
  return *this;
}
CaptureBuilder& CaptureBuilder::recorded_on(std::uint32_t stream) {
  syncs_.back().event_context = context_;
  syncs_.back().event_stream = stream;
  return *this;
}
CaptureBuilder& CaptureBuilder::overhead(std::uint32_t kind, std::int64_t begin_ns, std::int64_t end_ns) {
  format::OverheadRow row{};
  row.begin_ns = realtime(begin_ns);
  row.end_ns = realtime(end_ns);
  row.kind = kind;
  row.tid = thread().tid;
  overheads_.push_back(row);
  return *this;
}
CaptureBuilder& CaptureBuilder::jit(std::int64_t begin_ns, std::int64_t end_ns) {
  format::JitRow row{};
  row.begin_ns = realtime(begin_ns);
  row.end_ns = realtime(end_ns);
  row.tid = thread().tid;
  row.entry = 1;
  row.operation = 3;
  jits_.push_back(row);
  return *this;
}
CaptureBuilder& CaptureBuilder::allocation(std::int64_t time_ns, std::uint64_t address, std::uint64_t bytes, bool freed,
                                           std::uint32_t memory) {
  contexts_[context_] = device_;
  format::AllocationRow row{};
  row.time_ns = realtime(time_ns);
  row.correlation = correlation_;
  row.operation = freed ? 2 : 1;
  row.memory = memory;
  row.device = device_;
  row.context = context_;
  row.stream = 0xFFFFFFFFu;
  row.address = address;
  row.bytes = bytes;
  allocations_.push_back(row);
  return *this;
}
CaptureBuilder& CaptureBuilder::correlation(std::uint32_t id) {
  correlation_ = id;
  next_correlation_ = id;
  return *this;
}

// ---- the rest ---------------------------------------------------------------------------------------------------

CaptureBuilder& CaptureBuilder::h100(std::uint32_t id) {
  format::DeviceRow row{};
  row.id = id;
  row.name = name("NVIDIA H100 80GB HBM3");
  row.compute_major = 9;
  row.memory_bytes = 85'018'279'936;
  row.multiprocessors = 132;
  row.warp_size = 32;
  row.max_threads_per_block = 1024;
  row.max_warps_per_multiprocessor = 64;
  row.max_blocks_per_multiprocessor = 32;
  row.registers_per_block = row.registers_per_multiprocessor = 65536;
  row.shared_bytes_per_block = 49152;
  row.shared_bytes_per_multiprocessor = 233472;
  devices_.push_back(row);
  return *this;
}
CaptureBuilder& CaptureBuilder::meta(std::string_view key, std::string_view text) {
  meta_.emplace_back(key, text);
  return *this;
}
CaptureBuilder& CaptureBuilder::window(std::int64_t begin_ns, std::int64_t end_ns) {
  windows_.push_back({ticks(begin_ns), ticks(end_ns), static_cast<std::uint32_t>(windows_.size() + 1)});
  return *this;
}
CaptureBuilder& CaptureBuilder::health(std::uint32_t number, std::uint64_t count) {
  health_.push_back({number, count});
  return *this;
}
CaptureBuilder& CaptureBuilder::clock_point(std::int64_t time_ns, std::int64_t drift_ns, std::uint32_t width_ns) {
  clock_.push_back({ticks(time_ns), at(time_ns), realtime(time_ns) + drift_ns, width_ns});
  return *this;
}
CaptureBuilder& CaptureBuilder::device_sample(std::int64_t time_ns, format::DeviceSampleRow row) {
  row.time_ns = realtime(time_ns);
  row.device = device_;
  device_samples_.push_back(row);
  return *this;
}

CaptureBuilder& CaptureBuilder::graph_node(std::uint64_t node, std::int64_t time_ns) {
  graph_nodes_.push_back({realtime(time_ns), node, correlation_});
  return *this;
}
CaptureBuilder& CaptureBuilder::range_metric(std::string_view range, std::int64_t begin_ns, std::int64_t end_ns,
                                             std::string_view metric, double value) {
  range_metrics_.push_back({ticks(begin_ns), ticks(end_ns), static_cast<std::uint32_t>(thread_), name(range), device_,
                            name(metric), format::coded_number(value)});
  return *this;
}
CaptureBuilder& CaptureBuilder::metric_sample(std::string_view metric, std::int64_t begin_ns, std::int64_t end_ns,
                                              double value) {
  metric_samples_.push_back({realtime(begin_ns), realtime(end_ns), device_, name(metric), format::coded_number(value)});
  return *this;
}
CaptureBuilder& CaptureBuilder::graph_launch(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t graph) {
  graph_launches_.push_back(
      {realtime(begin_ns), realtime(end_ns), correlation_, device_, context_, stream_, graph, device_, context_});
  return *this;
}
CaptureBuilder& CaptureBuilder::of_graph(std::uint64_t node, std::uint32_t graph) {
  kernels_.back().graph_node = node;
  kernels_.back().graph_id = graph;
  return *this;
}
CaptureBuilder& CaptureBuilder::simulated() { return flags_ |= format::kFlagSimulated, *this; }
CaptureBuilder& CaptureBuilder::unfinished() { return clean_ = false, *this; }
CaptureBuilder& CaptureBuilder::chunk_rows(std::size_t rows) { return chunk_rows_ = rows, *this; }
CaptureBuilder& CaptureBuilder::shuffle(std::uint64_t seed) { return shuffle_seed_ = seed, *this; }

std::vector<Record> CaptureBuilder::records_of(const Thread& thread) const {
  // A record for every begin, end and point, in order of time: outer ranges begin first and end last.
  struct Point {
    std::int64_t time_ns;
    bool is_end;
    std::int64_t other_ns;
    std::size_t event;
  };
  std::vector<Point> points;
  for (std::size_t i = 0; i < thread.events.size(); ++i) {
    const Event& event = thread.events[i];
    points.push_back({event.begin_ns, false, event.end_ns, i});
    if ((event.kind == RecordKind::kBegin || event.kind == RecordKind::kNodeBegin) && !event.never_ends)
      points.push_back({event.end_ns, true, event.begin_ns, i});
  }
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    // At one time: what ends there and began before, ends first; then what begins, the longer first; an empty range
    // ends behind its own begin.
    const auto rank = [](const Point& p) { return p.is_end ? (p.other_ns < p.time_ns ? 0 : 2) : 1; };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (a.is_end) return a.other_ns != b.other_ns ? a.other_ns > b.other_ns : a.event > b.event;
    return a.other_ns > b.other_ns;
  });
  std::vector<Record> records;
  for (const Point& point : points) {
    const Event& event = thread.events[point.event];
    if (event.kind == RecordKind::kSequence || event.kind == RecordKind::kThreadEvent) {
      records.push_back({event.number, make_word(event.kind, event.name, event.aux)});
      continue;
    }
    if (point.is_end && event.kind == RecordKind::kNodeBegin) {
      records.push_back({ticks(point.time_ns), make_word(RecordKind::kNodeEnd, 1)});
      continue;
    }
    const RecordKind kind = point.is_end ? RecordKind::kEnd : event.kind;
    if (point.is_end) {
      const std::uint32_t aux = (event.aux & ~detail::kResumed) | (event.suspended ? detail::kSuspended : 0);
      records.push_back({ticks(point.time_ns), make_word(kind, event.name, aux)});
      continue;
    }
    records.push_back({ticks(point.time_ns), make_word(kind, event.name, event.aux)});
    if (event.facts.has_value()) records.push_back(*event.facts);
    const bool numbered =
        kind == RecordKind::kAsyncBegin || kind == RecordKind::kAsyncEnd || kind == RecordKind::kForeignEnd;
    if (numbered)
      records.push_back(
          {event.number, make_word(RecordKind::kExtra, 0, static_cast<std::uint32_t>(ExtraKind::kUnsigned))});
    for (const Value& extra : event.values) {
      const bool text = extra.kind == ExtraKind::kText;
      records.push_back(
          {text ? 0 : extra.bits, make_word(RecordKind::kExtra, text ? static_cast<std::uint32_t>(extra.bits) : 0,
                                            static_cast<std::uint32_t>(extra.kind))});
    }
  }
  return records;
}

base::Bytes CaptureBuilder::build() const {
  ChunkWriter chunks;
  base::Bytes file;
  format::FileHeader header{};
  header.magic = format::kFileMagic;
  header.major = format::kMajorVersion;
  header.minor = format::kMinorVersion;
  header.header_bytes = sizeof header;
  header.capture_id = {0xCA, 0xB0, 0x1D};
  header.pid = 4242;
  header.ticks_per_second = 1'000'000'000;
  header.start_ticks = kTicksAtStart;
  header.start_monotonic_ns = kStart;
  header.start_realtime_ns = kStart + kRealtimeOffset;
  header.flags = flags_;
  header = format::sealed(header);
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  file.assign(bytes, bytes + sizeof header);

  std::vector<format::TextRow> texts;
  for (const auto& [text, id] : names_) {
    texts.push_back({id, {}, text});
    if (texts.size() < format::kMaxRows) continue;
    append(file, chunks.text(ChunkKind::kNames, texts));
    texts.clear();
  }
  append(file, chunks.text(ChunkKind::kNames, texts));
  texts.clear();
  for (const auto& [key, text] : meta_) texts.push_back({0, key, text});
  for (const auto& [text, id] : categories_) texts.push_back({0, "category:" + std::to_string(id), text});
  if (!texts.empty()) append(file, chunks.text(ChunkKind::kMeta, texts));
  std::vector<format::ThreadRow> threads;
  for (std::uint32_t i = 0; i < threads_.size(); ++i) threads.push_back({i, threads_[i].tid, threads_[i].name});
  append(file, chunks.rows<format::ThreadRow>(threads));
  std::vector<format::ContextRow> contexts;
  for (const auto& [id, device] : contexts_) contexts.push_back({id, device, 0});
  const auto put = [&]<typename Row>(const std::vector<Row>& rows) {
    if (!rows.empty()) append(file, chunks.rows<Row>(rows));
  };
  put(clock_);
  put(devices_);
  put(contexts);
  put(windows_);

  std::vector<Piece> pieces;
  std::mt19937_64 random(shuffle_seed_);
  const auto order = [&] { return shuffle_seed_ == 0 ? 0u : static_cast<std::uint32_t>(random() % 1000); };
  format::HostEventPacker packer;
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    const std::vector<Record> records = records_of(threads_[i]);
    std::uint32_t latest = 0;  // a thread's chunks keep their order
    for (std::size_t first = 0; first < records.size(); first += chunk_rows_) {
      const auto part = std::span(records).subspan(first, std::min(chunk_rows_, records.size() - first));
      const format::HostRun run{i, threads_[i].tid, 0, static_cast<std::uint32_t>(first)};
      const format::TickSpan span = packer.pack(run, part, chunks.columns());
      latest = std::max(latest, order());
      pieces.push_back({latest, chunks.finish(ChunkKind::kHostEvents, part.size(), i, span)});
    }
  }
  const auto add_rows = [&]<typename Row>(const std::vector<Row>& rows) {
    for (std::size_t first = 0; first < rows.size(); first += chunk_rows_) {
      const auto part = std::span<const Row>(rows).subspan(first, std::min(chunk_rows_, rows.size() - first));
      pieces.push_back({order(), chunks.rows<Row>(part)});
    }
  };
  add_rows(kernels_);
  add_rows(memcpys_);
  add_rows(memsets_);
  add_rows(calls_);
  add_rows(syncs_);
  add_rows(overheads_);
  add_rows(allocations_);
  add_rows(jits_);
  add_rows(graph_nodes_);
  add_rows(device_samples_);
  add_rows(range_metrics_);
  add_rows(metric_samples_);
  add_rows(graph_launches_);
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.order < b.order; });
  for (const Piece& piece : pieces) append(file, piece.chunk);
  put(health_);
  if (clean_) append(file, chunks.finish(ChunkKind::kEnd, 0));
  return file;
}

void CaptureBuilder::write(const std::string& path) const {
  Result<base::AtomicFile> file = base::AtomicFile::create(path, true);
  Status status = file.ok() ? file->write(build()) : Status(file.error());
  if (status.ok()) status = file->commit();
  if (!status.ok()) throw std::runtime_error(status.error().message());
}

}  // namespace rangefinder::testing
