// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include <rangefinder/timeline.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace bench {
namespace {

std::unique_ptr<rangefinder::Session> session;

std::string lost(const rangefinder::CaptureHealth& health) {
  if (health.complete()) return "nothing lost";
  return std::to_string(health.cupti_dropped + health.cupti_refused_buffers) + " + " +
         std::to_string(health.dropped_launches) + " lost and counted";
}

}  // namespace

void start_recording(const Recorded& what) {
  rangefinder::SessionOptions options;
  options.output = "/tmp/rangefinder-bench-%p.rfcap";
  options.cuda = what.cuda;
  options.cuda_api = what.api;
  options.cuda_sync = options.cuda_overhead = options.cuda_memory = what.rest;
  options.graph_tracing = what.graphs;
  options.memory_bytes = std::uint64_t{256} << 20;
  session = std::make_unique<rangefinder::Session>(options);
  const bool records = session->status().ok() && (!what.cuda || session->device().full);
  if (records) return;
  std::fprintf(stderr, "cannot record: %s\n",
               session->status().ok() ? session->device().reason.c_str() : session->status().error().message().c_str());
  std::_Exit(3);
}

void flush_recording() { (void)session->flush(); }

std::string keep_recording() {
  (void)session->stop();
  return session->output();
}

std::string stop_recording() {
  const std::string path = keep_recording();
  const rangefinder::Result<rangefinder::Timeline> timeline = rangefinder::load_timeline(path);
  ::unlink(path.c_str());
  const rangefinder::CaptureHealth health = session->health();
  const std::string activities = std::to_string(timeline ? timeline->activities.size() : 0) + " activities, ";
  return activities + lost(health);
}

}  // namespace bench
