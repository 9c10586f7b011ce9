// SPDX-License-Identifier: MIT
//
// Makes the seeds of corpus/capture that have records of operators and of memory, and reads each back: a seed that does
// not reach what it is for is none.
//
//   fuzz_make_seeds tests/fuzz/corpus/capture
#include "capture/live_builder.hpp"
#include "fuzz/timeline_checks.hpp"
#include "support/capture_builder.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

using namespace rangefinder;
using rangefinder::testing::CaptureBuilder;
using rangefinder::testing::LiveBuilder;

namespace {

constexpr std::size_t kMaxBytes = 8192;
constexpr std::string_view kInputs = "[[2, 3], [3, 4], []]\n[\"float\", \"float\", \"Scalar\"]\n[\"\", \"\", \"1.5\"]";

/// A forward and a backward pass by operators, with numbers, inputs and nodes.
CaptureBuilder operators() {
  CaptureBuilder capture;
  capture.h100().on_thread(1, "main").step(0, 0).range("step", 10, 5'000).numbers(11, 7, 1, true);
  capture.range("aten::linear", 20, 200, "operator").facts(7, 0, kInputs).numbers(150, 8, 1);
  capture.range("aten::addmm", 30, 190, "operator").facts(-1, 0, kInputs).launch(40).kernel("gemm", 300, 400);
  capture.range("aten::relu", 210, 250, "operator").facts(8);
  capture.on_thread(2, "pt_autograd_0");
  capture.node("ReluBackward0", 1'000, 1'100, 8, 1).node("AddmmBackward0", 1'100, 1'400, 7, 1);
  capture.range("autograd::engine::evaluate_function: AddmmBackward0", 1'500, 1'700, "operator");
  capture.range("AddmmBackward0", 1'510, 1'690, "operator").facts(7, 1).launch(1'600).kernel("gemm", 1'800, 1'900);
  capture.node("torch::autograd::AccumulateGrad", 2'000, 2'050, -1, 0);
  capture.on_thread(1).step(1, 5'100).payload(std::uint64_t{64}).step(2, 5'200, false);
  return capture;
}

/// Nodes of a CUDA graph that two layers made, one of them updated, one by a call that was not noted, and their replay.
CaptureBuilder graphs() {
  CaptureBuilder capture;
  capture.h100().on_thread(1, "main").range("layer.0", 10, 40).launch(20).graph_node(1, 25).graph_node(11, 300);
  capture.range("layer.1", 50, 90).launch(60).graph_node(2, 65).graph_node(12, 300).graph_node(11, 600);
  capture.correlation(70).call("cudaGraphAddKernelNode_v10000", 110, 120).graph_node(3, 115).graph_node(13, 300);
  capture.correlation(80).on_thread(2, "worker").range("replay", 400, 900);
  capture.launch(410).kernel("a", 420, 430).of_graph(11).kernel("b", 430, 440).of_graph(12);
  capture.launch(700).kernel("a", 710, 720).of_graph(11).kernel("c", 720, 730).of_graph(13);
  capture.launch(800).graph_launch(810, 850);
  return capture;
}

/// Every action of an allocator, on the host and on a device, with all numbers of values.
CaptureBuilder memory() {
  CaptureBuilder capture;
  capture.h100().range("step", 0, 9'000).range("aten::empty", 600, 700, "operator").facts(-1, 0, kInputs);
  capture.memory(MemoryAction::kAllocate, 650, -1, {0x1000, 512, 512});
  capture.memory(MemoryAction::kSegmentAllocate, 900, 0, {0x8000, 2048, 0, 2048, 7});
  capture.memory(MemoryAction::kAllocate, 1'000, 0, {0x8000, 64, 64, 2048, 7, 3});
  capture.memory(MemoryAction::kFree, 1'100, 0, {0x8000, 64, 0, 2048});
  capture.memory(MemoryAction::kSegmentMap, 1'200, 1, {0x20000, 4096});
  capture.memory(MemoryAction::kSegmentUnmap, 1'300, 1, {0x20000, 4096});
  capture.memory(MemoryAction::kSegmentFree, 1'400, 0, {0x8000, 2048, 0, 0});
  capture.memory(MemoryAction::kOutOfMemory, 1'500, 0, {0, std::uint64_t{1} << 40});
  capture.memory(MemoryAction::kFree, 1'600, -1, {0x1000, 512, 0});
  return capture;
}

template <typename T>
void load(const base::Bytes& bytes, T& value) {
  std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
}

/// What a program leaves that was killed: its last records, which never came into the capture. The target puts zeros
/// behind the block, so that the seed ends with the last record.
base::Bytes killed() {
  using detail::make_word;
  using detail::RecordKind;
  const auto unsigned_value = [](std::uint64_t value) {
    return detail::Record{value,
                          make_word(RecordKind::kExtra, 0, static_cast<std::uint32_t>(detail::ExtraKind::kUnsigned))};
  };
  const auto host_block = [](std::uint64_t address, std::uint64_t size, bool freed) {
    return address >> detail::kHostAlignmentBits << detail::kHostAddressShift | size << detail::kHostSizeShift |
           std::uint64_t{freed} << detail::kHostFreedBit | make_word(RecordKind::kHostBlock, 0);
  };
  base::Bytes out = CaptureBuilder().range("step", 0, 100).unfinished().build();
  LiveBuilder live;
  load(out, live.header);
  live.names = {{101, "late"}, {102, "aten::mm"}, {103, std::string(kInputs)}};
  const std::uint64_t ticks = live.header.start_ticks + 1'000;
  const auto action = static_cast<std::uint32_t>(MemoryAction::kAllocate);
  LiveBuilder::Block block;
  block.thread = 9;
  block.tid = 99;
  block.name = "worker";
  block.records = {{ticks, make_word(RecordKind::kBegin, 101)},
                   {ticks + 10, make_word(RecordKind::kBegin, 102)},
                   {9, make_word(RecordKind::kOperator, 103, 1)},
                   {ticks + 20, make_word(RecordKind::kMemory, ~0u, action)},
                   unsigned_value(0x1000),
                   unsigned_value(512),
                   {ticks + 30, make_word(RecordKind::kMemory, 0, action)},
                   unsigned_value(0x8000),
                   unsigned_value(64),
                   unsigned_value(64),
                   {4096, make_word(RecordKind::kHostBlockFact, 0, 3)},
                   {512, make_word(RecordKind::kHostBlockFact, 0, detail::kHostSizes)},
                   {ticks + 35, host_block(0x7F00'0000'1000, 3, false)},
                   {ticks + 38, host_block(0x7F00'0000'1000, 3, true)},
                   {ticks + 40, make_word(RecordKind::kEnd, 102)}};
  live.blocks = {block};
  const base::Bytes file = live.build();

  // The area of names is as long as its names here.
  format::LiveHeader header;
  load(file, header);
  header.names_bytes = header.names_used.load();
  header.blocks_offset = header.names_offset + header.names_bytes;
  header.file_bytes = header.blocks_offset + detail::kBlockBytes;
  header.checksum = format::live_header_checksum(header);
  const std::size_t block_bytes = sizeof(format::BlockHeader) + block.records.size() * sizeof(detail::Record);
  out.resize(format::padded(out.size()));
  const std::size_t at = out.size();
  const auto names = file.begin() + static_cast<std::ptrdiff_t>(header.names_offset);
  const auto records = file.begin() + static_cast<std::ptrdiff_t>(detail::kBlockBytes);
  out.resize(at + sizeof header);
  std::memcpy(out.data() + at, static_cast<const void*>(&header), sizeof header);
  out.resize(at + header.names_offset);
  out.insert(out.end(), names, names + static_cast<std::ptrdiff_t>(header.names_bytes));
  out.insert(out.end(), records, records + static_cast<std::ptrdiff_t>(block_bytes));
  return out;
}

void write(const std::string& path, base::ByteView bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  HOLDS(file.flush().good());
}

Timeline loaded(const std::string& path) {
  LoadOptions options;
  options.operator_inputs = true;
  Result<Timeline> timeline = load_timeline(path, options);
  if (!timeline.ok()) std::fprintf(stderr, "%s\n", timeline.error().message().c_str());
  HOLDS(timeline.ok());
  return std::move(*timeline);
}

/// Writes a seed, and gives what is in it, as the target would have it read.
Timeline write_seed(const std::string& folder, const std::string& name, const base::Bytes& bytes,
                    std::size_t capture_bytes) {
  HOLDS(bytes.size() <= kMaxBytes);
  const std::string path = folder + "/" + name + ".rfcap";
  const base::ByteView all(bytes);
  write(path, all.first(capture_bytes));
  if (capture_bytes != bytes.size()) {
    base::Bytes live(bytes.begin() + static_cast<std::ptrdiff_t>(capture_bytes), bytes.end());
    format::LiveHeader header;
    load(live, header);
    live.resize(header.blocks_offset + detail::kBlockBytes);
    write(path + ".live", live);
  }
  Timeline timeline = loaded(path);
  for (const char* suffix : {"", ".live"}) std::remove((path + suffix).c_str());
  write(folder + "/" + name + ".bin", all);
  std::fprintf(stderr, "%s.bin: %zu bytes, %zu operators, %zu nodes, %zu events of memory\n", name.c_str(),
               bytes.size(), timeline.operators.size(), timeline.autograd_nodes.size(),
               timeline.allocator_events.size());
  return timeline;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: fuzz_make_seeds FOLDER\n"), 2;
  const std::string folder = argv[1];
  const base::Bytes of_operators = operators().build();
  const Timeline first = write_seed(folder, "operators", of_operators, of_operators.size());
  HOLDS(first.operators.size() == 5 && first.autograd_nodes.size() == 3 && first.steps.items.front() == 64);
  const base::Bytes of_memory = memory().build();
  const Timeline second = write_seed(folder, "memory", of_memory, of_memory.size());
  HOLDS(second.allocator_events.size() == 9 && second.operators.size() == 1);
  const base::Bytes of_graphs = graphs().build();
  const Timeline graph = write_seed(folder, "graphs", of_graphs, of_graphs.size());
  HOLDS(graph.graph_nodes.size() == 7 && graph.activities.captured[0] != graph.activities.captured[2] &&
        graph.activities.captured[3] != kNone);
  const base::Bytes of_killed = killed();
  const Timeline third = write_seed(folder, "live_records", of_killed,
                                    format::padded(CaptureBuilder().range("step", 0, 100).unfinished().build().size()));
  HOLDS(third.allocator_events.size() == 4 && third.allocator_events.allocated[3] == 512 &&
        third.operators.size() == 1 && third.ranges.size() == 3);
  return 0;
}
