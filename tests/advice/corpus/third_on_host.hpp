// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/host_training.hpp"

#include <cstdint>

// Programs without a device that only the third part has.
namespace rangefinder::testing::corpus {

/// Training that calls its ranges as a federated learner does.
inline HostLoop minibatch_loop() {
  HostLoop loop;
  loop.names.step = "epoch_step";
  loop.names.data = "next_minibatch";
  loop.names.forward = "model_forward";
  loop.names.backward = "model_backward";
  loop.names.optimizer = "sgd";
  return loop;
}

/// A renderer: rows of pixels are shaded by eight threads.
inline ThreadedLoop render_loop() {
  ThreadedLoop loop;
  loop.data = "read_tile";
  loop.whole = "render_frame";
  loop.serial = "sort_primitives";
  loop.work = "shade_rows";
  loop.phases = 5;
  loop.phase_us = 32'000;
  return loop;
}

}  // namespace rangefinder::testing::corpus
