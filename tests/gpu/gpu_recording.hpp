// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <cuda_program.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::testing {

/// Device activities of the ranges of each name, those of ranges inside them left out.
inline std::map<std::string, std::uint64_t> operations(const Timeline& timeline, Attribution attribution) {
  const Projection projection = project(timeline, {attribution, true, false});
  std::map<std::string, std::uint64_t> found;
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    const std::uint64_t own = projection.exclusive[range].gpu_ops;
    if (own != 0) found[std::string(timeline.text(timeline.ranges.name[range]))] += own;
  }
  const Account& account = projection.account;
  if (account.outside.gpu_ops != 0) found["[outside]"] = account.outside.gpu_ops;
  if (account.before.gpu_ops != 0) found["[before]"] = account.before.gpu_ops;
  if (account.unknown.gpu_ops != 0) found["[unknown]"] = account.unknown.gpu_ops;
  return found;
}
using Operations = std::map<std::string, std::uint64_t>;

inline std::uint64_t count_of(const Timeline& timeline, ActivityKind kind) {
  const auto& kinds = timeline.activities.kind;
  return static_cast<std::uint64_t>(std::count(kinds.begin(), kinds.end(), kind));
}

/// The note that has this in it, or nothing.
inline std::string note_with(const Timeline& timeline, std::string_view text) {
  const auto found = std::find_if(timeline.notes.begin(), timeline.notes.end(),
                                  [&](const std::string& note) { return note.find(text) != std::string::npos; });
  return found != timeline.notes.end() ? *found : std::string();
}

/// A capture's path: NAME.rfcap in the folder that RANGEFINDER_KEEP_CAPTURES names, else one to be removed.
inline std::string capture_path(const std::string& name) {
  const char* const kept = std::getenv("RANGEFINDER_KEEP_CAPTURES");
  return kept != nullptr ? std::string(kept) + "/" + name + ".rfcap"
                         : "/tmp/rangefinder-gpu-" + std::to_string(::getpid()) + ".rfcap";
}

/// Read back, and removed unless captures are kept. What was counted is printed.
inline Timeline load(const std::string& name, const std::string& path) {
  Result<Timeline> timeline = load_timeline(path);
  if (std::getenv("RANGEFINDER_KEEP_CAPTURES") == nullptr) ::unlink(path.c_str());
  REQUIRE(timeline);
  for (const CaptureHealth::Entry& entry : timeline->health.entries()) {
    if (entry.count != 0)
      std::printf("%s: %llu %s\n", name.c_str(), static_cast<unsigned long long>(entry.count),
                  std::string(entry.text).c_str());
  }
  return std::move(*timeline);
}

/// What `body(session)` does, recorded and read back.
template <typename Body>
Timeline recorded(const std::string& name, Body&& body, SessionOptions options = {}) {
  options.output = capture_path(name);
  Session session(options);
  REQUIRE(session.status().ok());
  if (options.counters.empty()) {  // beside counters no activity is recorded
    CAPTURE(session.device().reason);
    REQUIRE(session.device().full);
  }
  body(session);
  REQUIRE(session.stop().ok());
  return load(name, session.output());
}

}  // namespace rangefinder::testing

/// Opens `program`, or skips the test case.
#define RANGEFINDER_OPEN_CUDA(program, interface)                                     \
  Result<CudaProgram> program##_opened = CudaProgram::open(CudaInterface::interface); \
  if (!program##_opened) RANGEFINDER_SKIP(program##_opened.error().message());        \
  CudaProgram& program = *program##_opened
