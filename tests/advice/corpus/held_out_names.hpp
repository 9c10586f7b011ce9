// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/training_loop.hpp"

#include <utility>

// What programs of the held-out half call their ranges.
namespace rangefinder::testing::corpus {

inline Loop named_loop(Model model, LoopNames names) {
  Loop loop{std::move(model)};
  loop.names = std::move(names);
  return loop;
}

/// As fairseq's trainer and tasks do it.
inline LoopNames fairseq_names() { return {"train_step", "prepare_sample", "forward", "backward", "optimizer", ""}; }

/// As TorchRec's pipelines do it.
inline LoopNames torchrec_names() {
  return {"## progress ##", "## copy_batch_to_gpu ##", "## forward ##", "## backward ##", "## optimizer ##", ""};
}

/// As Megatron's timers do it.
inline LoopNames megatron_names() {
  return {"interval-time", "batch-generator", "forward-compute", "backward-compute", "optimizer-inner-step", ""};
}

/// As DeepSpeed's engine does it.
inline LoopNames deepspeed_names() {
  return {"", "next_batch", "DeepSpeedEngine.forward", "DeepSpeedEngine.backward", "DeepSpeedEngine.step", ""};
}

/// As Detectron2's trainer would.
inline LoopNames detectron_names() {
  return {"SimpleTrainer.run_step", "data_loader_iter",        "GeneralizedRCNN.forward",
          "losses.backward",        "Optimizer.step#SGD.step", "GeneralizedRCNN.graphed"};
}

/// As the references of torchvision would.
inline LoopNames reference_names() {
  return {"train_one_epoch", "metric_logger.log_every", "model(image)",
          "loss.backward()", "Optimizer.step#SGD.step", ""};
}

/// Of a trainer for scenes.
inline LoopNames scene_names() {
  return {"Trainer.train_iteration",
          "datamanager.next_train",
          "get_train_loss_dict",
          "grad_scaler.scale.backward",
          "optimizers.optimizer_scaler_step_all",
          "graphed_iteration"};
}

/// Of nnU-Net's trainer.
inline LoopNames segmentation_names() {
  return {"nnUNetTrainer.train_step",      "dataloader_train.next", "network",
          "grad_scaler.scale(l).backward", "grad_scaler.step",      ""};
}

}  // namespace rangefinder::testing::corpus
