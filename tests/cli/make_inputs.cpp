// SPDX-License-Identifier: MIT
#include "support/capture_builder.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

// Writes the captures that cli_test.py runs the command on.
namespace {

using rangefinder::testing::CaptureBuilder;

CaptureBuilder training_step() {
  CaptureBuilder capture;
  capture.h100().meta("program", "train").step(0, 0).step(1, 9'000);
  capture.range("step", 0, 9'000).range("forward", 500, 4'000).range("backward", 4'000, 8'000);
  capture.launch(1'000).call("cudaLaunchKernel_v7000", 990, 1'400).kernel("gemm", 2'000, 4'500);
  capture.launch(5'000).call("cudaLaunchKernel_v7000", 4'990, 5'400).kernel("void relu<float>(float*)", 5'500, 6'500);
  capture.launch(6'000).call("cudaMemcpyAsync_v3020", 5'990, 6'400).memcpy(7'000, 8'000, 65'536, 2);
  return capture;
}

void write_cut(const std::string& whole, const std::string& cut, double share) {
  std::filesystem::copy_file(whole, cut);
  std::filesystem::resize_file(
      cut, static_cast<std::uintmax_t>(static_cast<double>(std::filesystem::file_size(whole)) * share));
}

void write_all(const std::string& folder) {
  const auto file = [&](const char* name) { return folder + "/" + name; };
  training_step().write(file("whole.rfcap"));
  training_step().health(1, 12).write(file("dropped.rfcap"));
  training_step().unfinished().write(file("unfinished.rfcap"));
  training_step().simulated().write(file("simulated.rfcap"));
  write_cut(file("whole.rfcap"), file("cut.rfcap"), 0.7);
  write_cut(file("whole.rfcap"), file("header_only.rfcap"), 0.01);
  CaptureBuilder memory = training_step();
  memory.range("aten::mm", 600, 700, "operator");
  memory.memory(rangefinder::MemoryAction::kAllocate, 650, -1, {0x1000, 512, 512});
  memory.memory(rangefinder::MemoryAction::kAllocate, 5'000, -1, {0x2000, 100, 612});
  memory.memory(rangefinder::MemoryAction::kFree, 6'000, -1, {0x2000, 100, 512});
  memory.memory(rangefinder::MemoryAction::kSegmentAllocate, 6'100, 0, {0x8000, 2048, 0, 2048, 7});
  memory.memory(rangefinder::MemoryAction::kAllocate, 6'200, 0, {0x8000, 64, 64, 2048, 7, 3});
  memory.memory(rangefinder::MemoryAction::kOutOfMemory, 6'300, 0, {0, 1u << 30});
  memory.write(file("memory.rfcap"));
  CaptureBuilder operators;
  operators.range("step", 0, 9'000'000).range("aten::mm", 1'000, 8'000'000, "operator");
  operators.facts(-1, 0, "[[100, 100], [100, 100]]\n[\"float\", \"float\"]\n[\"\", \"\"]");
  operators.write(file("operators.rfcap"));
  CaptureBuilder payloads;
  payloads.range("batch", 0, 500).payload(std::uint64_t{128}).range("batch", 1'000, 1'600).payload(std::uint64_t{16});
  payloads.range("batch", 2'000, 2'700).payload(std::uint64_t{64}).range("loss", 3'000, 3'100).payload(0.5);
  payloads.write(file("payloads.rfcap"));
  CaptureBuilder hostile;
  // Control characters of one byte and of two (C1), a clipboard sequence, a right-to-left override, and no UTF-8.
  constexpr char kSteering[] =
      "a\0b\x1b[31m\n\r\x7f</script>\x1b]52;c;aGk=\x07\xc2\x9b"
      "2J\xe2\x80\xae\xff";
  const std::string name(kSteering, sizeof kSteering - 1);
  hostile.range(name, 0, 100, name)
      .payload(std::string_view(name))
      .launch(10)
      .call(name, 10, 20)
      .kernel(name, 30, 60)
      .meta(name, name);
  hostile.write(file("hostile.rfcap"));
  CaptureBuilder().range(std::string(1 << 20, 'm'), 0, 100).write(file("long_name.rfcap"));
  std::filesystem::create_directory(file("job"));
  training_step().meta("rank", "0").write(file("job/rank0.rfcap"));
  training_step().meta("rank", "1").write(file("job/rank1.rfcap"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "cli_test_inputs FOLDER\n"), 2;
  try {
    write_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cli_test_inputs: %s\n", error.what());
    return 1;
  }
}
