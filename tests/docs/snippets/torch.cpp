// SPDX-License-Identifier: MIT
// docs/how-to/look-at-memory.md, look-at-operators.md
#include <rangefinder/session.hpp>
#include <rangefinder/torch/memory.hpp>
#include <rangefinder/torch/operators.hpp>

#include <cassert>
#include <cstdint>

// What the pages leave to their readers.
struct Loss {
  void backward();
};
void train();

void operators_of_a_session() {
  rangefinder::torch::OperatorOptions options;
  options.shapes = true;  // by shape, and FLOPs
  rangefinder::torch::OperatorRecording operators(options);
}

void memory_of_a_session() {
  rangefinder::Session session{"train.rfcap"};
  rangefinder::torch::MemoryRecording memory;  // <rangefinder/torch/memory.hpp>, link rangefinder::torch
  train();
}

void figures([[maybe_unused]] std::uint64_t limit, Loss& loss) {
  rangefinder::torch::reset_host_memory_peak();
  loss.backward();
  assert(rangefinder::torch::host_memory().peak_bytes < limit);  // exact, with or without a session

  rangefinder::torch::count_device_memory()
      .value();  // allocated, reserved, inactive splits, ... as counters; throws without a device
}

void snapshot() {
  rangefinder::torch::MemoryRecordingOptions options;
  options.history_events = 100'000;  // how memory came to be what it is, with C++ stacks
  options.snapshot_when_out_of_memory = "oom.pickle";
  rangefinder::torch::MemoryRecording memory{options};
  train();
  rangefinder::torch::memory_snapshot("now.pickle").value();
}
