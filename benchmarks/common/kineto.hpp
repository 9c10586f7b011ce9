// SPDX-License-Identifier: MIT
#pragma once

#include <string>

// The profiler behind torch.profiler, through LibTorch's own interface. For programs that link LibTorch: the file is
// added to their sources.
namespace bench {

/// Operators, nodes and user scopes of the calling thread, on the CPU; without shapes, stacks or memory.
void start_kineto();
void start_kineto_with_shapes();
/// With kernels and API calls as well.
void start_kineto_with_cuda();
/// Further threads are heard from here on.
void join_kineto();
/// Ends it and writes its Chrome JSON.
void save_kineto(const std::string& path);

}  // namespace bench
