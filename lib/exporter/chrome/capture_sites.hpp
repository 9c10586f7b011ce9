// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rangefinder::chrome {

/// Where the nodes of CUDA graphs were made, while the events of a capture go by in order of time. Memory grows with
/// the nodes, which a recording bounds.
class CaptureSites {
 public:
  struct Site {
    std::int64_t tid;
    std::int64_t time_ns;
    std::string_view ranges;  ///< as ActivityPlace::captured_in
  };
  explicit CaptureSites(capture::CaptureReader& reader);

  /// A launch, by format::launch_key; kept where it made a node.
  void add_launch(std::uint64_t key, Site site);
  bool made_node(std::uint64_t key) const noexcept { return sites_.contains(key); }
  /// Of a node, as it was at that time, when its graph was launched; null: not known.
  const Site* find(std::uint64_t node, std::int64_t time_ns) const noexcept;

 private:
  struct Made {
    std::int64_t time_ns;  // from when on
    std::uint64_t key;     // 0: not known
  };
  std::unordered_map<std::uint64_t, std::vector<Made>> nodes_;  // in order of time
  std::unordered_map<std::uint64_t, Site> sites_;               // of all keys of nodes; no time: not yet come by
  std::set<std::string, std::less<>> ranges_;
  std::int64_t clock_error_ns_;
};

}  // namespace rangefinder::chrome
