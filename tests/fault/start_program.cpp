// SPDX-License-Identifier: MIT
//
// Starts sessions at the same moment as other processes do: start_program NUMBER ROUNDS OUTPUT FD. In round r it
// records one range, "range.NUMBER", into OUTPUT, where a % stands for r; all processes begin each round together.
// Prints what goes wrong, and exits with 1 then. FD is the memory that the processes share.
#include "fault/starts.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace rangefinder;
using rangefinder::testing::Starts;

namespace {

void wait_for_others(Starts& starts, std::uint32_t round) {
  ::alarm(120);  // where another process has died
  starts.arrived.fetch_add(1);
  while (starts.arrived.load() < starts.processes * (round + 1)) ::sched_yield();
}

std::string output_of(std::string pattern, std::uint32_t round) {
  const std::size_t at = pattern.find('%');
  return at == std::string::npos ? pattern : pattern.replace(at, 1, std::to_string(round));
}

bool record(const std::string& output, const std::string& range_name) {
  SessionOptions options;
  options.output = output;
  options.cuda = options.nvtx = false;
  options.memory_bytes = std::uint64_t{8} << 20;
  Session session(options);
  { const ProfileRange range{std::string_view(range_name)}; }
  const Status status = session.status().ok() ? session.stop() : session.status();
  if (!status.ok()) std::printf("%s: %s\n", range_name.c_str(), status.error().message().c_str());
  return status.ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  void* memory = ::mmap(nullptr, sizeof(Starts), PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(argv[4]), 0);
  if (memory == MAP_FAILED) return 3;
  auto& starts = *static_cast<Starts*>(memory);
  const auto rounds = static_cast<std::uint32_t>(std::atoi(argv[2]));
  bool good = true;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    wait_for_others(starts, round);
    good = record(output_of(argv[3], round), std::string("range.") + argv[1]) && good;
  }
  return good ? 0 : 1;
}
