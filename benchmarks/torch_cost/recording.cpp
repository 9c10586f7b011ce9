// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include <rangefinder/torch/memory.hpp>
#include <rangefinder/torch/operators.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace bench {
namespace {

std::unique_ptr<rangefinder::Session> session;
std::unique_ptr<rangefinder::torch::OperatorRecording> recorded_operators;
std::unique_ptr<rangefinder::torch::MemoryRecording> recorded_memory;
bool record_memory = false;

void start_memory() {
  if (!record_memory) return;
  rangefinder::torch::MemoryRecordingOptions chosen;
  chosen.cuda = false;
  recorded_memory = std::make_unique<rangefinder::torch::MemoryRecording>(chosen);
}

}  // namespace

const std::string& folder() {
  static const std::string made = [] {
    char name[] = "/tmp/rangefinder-bench-XXXXXX";
    if (::mkdtemp(name) == nullptr) std::exit(3);
    return std::string(name);
  }();
  return made;
}

void Recording::start(const Recorded& what) {
  rangefinder::SessionOptions options;
  options.output = folder() + "/%p.rfcap";
  options.cuda = what.cuda;
  options.cuda_api = what.cuda_api;
  options.graph_tracing = what.graphs;
  options.autograd = what.autograd;
  if (what.turns) options.schedule.wait = options.schedule.active = 1;
  session = std::make_unique<rangefinder::Session>(options);
  if (!session->status().ok() || (what.cuda && !session->device().full)) {
    std::fprintf(
        stderr, "%s\n",
        session->status().ok() ? session->device().reason.c_str() : session->status().error().message().c_str());
    std::_Exit(3);
  }
  if (what.operators) {
    rangefinder::torch::OperatorOptions chosen;
    chosen.shapes = what.shapes;
    recorded_operators = std::make_unique<rangefinder::torch::OperatorRecording>(chosen);
  }
  record_memory = what.memory;
  if (!what.turns) start_memory();
}

void Recording::turn(bool on) {
  static bool is_on = false;
  if (on == is_on) return;
  is_on = on;
  recorded_memory.reset();
  session->step();  // the schedule records every other step
  if (on) start_memory();
}

void Recording::flush() {
  if (session != nullptr) (void)session->flush();
}

std::string Recording::keep() {
  recorded_operators.reset();
  recorded_memory.reset();
  (void)session->stop();
  return session->output();
}

std::string Recording::stop() {
  ::unlink(keep().c_str());
  const rangefinder::CaptureHealth health = session->health();
  return health.complete() ? "nothing lost"
                           : "dropped and counted: " + std::to_string(health.dropped_ranges) + " ranges, " +
                                 std::to_string(health.dropped_memory_events) + " memory events";
}

void print_added_ratio(const std::string& what, double limit, const Row& ours, const Row& theirs) {
  if (ours.ratio == 0 || theirs.ratio == 0) return print_unmeasured(what);
  if (added(theirs) <= 0) return print_unmeasured(what + " (the other adds nothing)");
  print_target(what, limit, added(ours) / added(theirs));
}

}  // namespace bench
