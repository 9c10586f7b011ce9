// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"
#include "support/replay/nsight_program.hpp"
#include "support/replay/player.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/timeline.hpp>

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rangefinder::testing {

inline std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return text != nullptr && name.starts_with("_Z") ? std::string(text.get()) : name;
}

/// Nsight has a demangler of its own: "<(int)4>" where everybody else writes "<4>".
inline void spell_as_nsight(Timeline& timeline, const NsightProgram& program) {
  std::map<std::string, std::string, std::less<>> spellings;
  for (const auto& [mangled, spelling] : program.spellings) {
    const auto [at, added] = spellings.emplace(demangled(mangled), spelling);
    REQUIRE((added || at->second == spelling));
  }
  for (ActivityIndex i{0}; i < timeline.activities.size(); ++i) {
    if (timeline.activities.kind[i] != ActivityKind::kKernel) continue;
    const std::string_view name = timeline.text(timeline.activities.name[i]);
    CAPTURE(name);
    const auto found = spellings.find(name);
    REQUIRE(found != spellings.end());
    ActivityRow row = timeline.activities.row(i);
    row.name = timeline.intern(found->second);
    timeline.activities.set(i, row);
  }
}

/// Plays every process of a program into a capture of its own, and reads them as one job. What only the recorded
/// program had is put back: numbers of processes and threads, priorities, and Nsight's spelling of kernels.
inline Timeline replayed(const NsightProgram& program, std::uint64_t seed) {
  const ScratchFolder folder;
  std::vector<std::string> paths;
  std::vector<Played> played;
  for (const RecordedProcess& process : program.processes) {
    paths.push_back(folder.file(std::to_string(process.pid) + ".rfcap"));
    played.push_back(play(process, seed, paths.back()));
  }
  Result<Timeline> timeline = load_job(paths);
  REQUIRE(timeline.ok());
  REQUIRE(timeline->processes.size() == program.processes.size());
  for (ProcessIndex i{0}; i < program.processes.size(); ++i)
    name_as_recorded(*timeline, i, program.processes[i], played[i]);
  spell_as_nsight(*timeline, program);
  return std::move(*timeline);
}

}  // namespace rangefinder::testing
