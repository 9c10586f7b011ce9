// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/collectives.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rangefinder::testing {

struct NotedPhase {
  detail::CollectivePhase phase;
  std::thread::id thread;
};

/// A call of begin_collective(), and what was noted of it.
struct RecordedCollective {
  CollectiveKind kind;
  CollectiveSource source;
  std::string name, dtype, algorithm, protocol;
  std::uint32_t group;
  std::int64_t number, elements_in, elements_out;
  std::int32_t peer, channels;
  std::thread::id thread;
  std::vector<NotedPhase> phases;

  int count(detail::CollectivePhase phase) const;
};

struct RecordedGroup {
  std::string name, description;
  std::int32_t size, rank;
};

/// The recording that the plugin finds instead of the library's: its four functions, and what they were called with.
/// Records while it exists; there is one at a time.
class FakeRecorder {
 public:
  FakeRecorder();
  ~FakeRecorder();
  FakeRecorder(const FakeRecorder&) = delete;
  FakeRecorder& operator=(const FakeRecorder&) = delete;

  /// In the order of their calls.
  std::vector<RecordedCollective> collectives() const;
  RecordedGroup group(std::uint32_t number) const;
  /// Calls of count_lost_collective().
  std::uint64_t lost() const;
  /// Notes for handles that were never given.
  std::uint64_t foreign_notes() const;

  void pause(bool paused);
  /// begin_collective() gives handles, and nothing is kept: for what must not allocate.
  void forget(bool forgetting);

  std::uint32_t begin(const detail::CollectiveCall& call);
  void note(std::uint32_t handle, detail::CollectivePhase phase);
  void lose();

 private:
  mutable std::mutex mutex_;
  bool is_paused_ = false, is_forgetting_ = false;
  std::vector<RecordedCollective> collectives_;
  std::uint64_t foreign_notes_ = 0, lost_ = 0;
  std::uint32_t first_handle_;
};

}  // namespace rangefinder::testing
