// SPDX-License-Identifier: MIT
#include "common/kineto.hpp"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <set>

namespace bench {

namespace profiler = torch::autograd::profiler;

namespace {

using Activity = torch::profiler::impl::ActivityType;

void start(bool shapes, const std::set<Activity>& what = {Activity::CPU}) {
  const profiler::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO, shapes);
  profiler::prepareProfiler(config, what);
  profiler::enableProfiler(
      config, what, {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
}

}  // namespace

void start_kineto() { start(false); }
void start_kineto_with_shapes() { start(true); }
void start_kineto_with_cuda() { start(false, {Activity::CPU, Activity::CUDA}); }

void join_kineto() { profiler::enableProfilerInChildThread(); }

void save_kineto(const std::string& path) { profiler::disableProfiler()->save(path); }

}  // namespace bench
