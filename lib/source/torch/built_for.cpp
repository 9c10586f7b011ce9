// SPDX-License-Identifier: MIT
#include <torch/version.h>

// For who has to know the version of LibTorch before this is loaded, when its callbacks are added: the Python package
// looks for this text in the file (python/src/rangefinder/torch.py).
[[gnu::used]] static const char kBuiltFor[] = "rangefinder component for LibTorch " TORCH_VERSION;
