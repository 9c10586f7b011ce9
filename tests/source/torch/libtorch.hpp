// SPDX-License-Identifier: MIT
#pragma once

// LibTorch's headers, once for all files that are compiled together, before any of them uses a namespace of ours: the
// headers say `using torch::...`, and rangefinder::torch is one of ours. And Catch2's names behind them.
#include <ATen/ATen.h>
#include <ATen/SequenceNumber.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/autograd/variable.h>

#undef CHECK  // LibTorch's, which ends the program
#include "support/catch.hpp"
