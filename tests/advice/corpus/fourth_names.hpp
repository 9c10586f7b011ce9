// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/training_loop.hpp"

// What programs of the fourth part call their ranges.
namespace rangefinder::testing::corpus {

/// As Lightning does it.
inline LoopNames lightning_names() {
  LoopNames names;
  names.step = "[pl][profile]run_training_batch";
  names.data = "[pl][profile][_TrainingEpochLoop].train_dataloader_next";
  names.forward = "[pl][profile][Strategy]SingleDeviceStrategy.training_step";
  names.backward = "[pl][profile][Strategy]SingleDeviceStrategy.backward";
  names.optimizer = "[pl][module]optimizer_step";
  return names;
}

/// As the trainer of Transformers does it.
inline LoopNames trainer_names() {
  LoopNames names;
  names.step = "Trainer._inner_training_loop";
  names.data = "get_batch_samples";
  names.forward = "compute_loss";
  names.backward = "loss_backward";
  names.optimizer = "Optimizer.step#AdamW.step";
  return names;
}

inline LoopNames spanish_names() {
  LoopNames names;
  names.step = "paso";
  names.data = "leer_lote";
  names.forward = "adelante";
  names.backward = "atras";
  names.optimizer = "actualizar";
  return names;
}

inline LoopNames terse_names() {
  LoopNames names;
  names.step = "it";
  names.data = "in";
  names.forward = "f";
  names.backward = "b";
  names.optimizer = "u";
  names.graph = "g";
  return names;
}

}  // namespace rangefinder::testing::corpus
