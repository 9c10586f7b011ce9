// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "format/host_events.hpp"
#include "format/layout.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::capture {

/// What the live file of a recording holds beyond its capture.
struct LiveContent {
  struct Thread {
    std::uint32_t index;
    std::uint32_t tid;
    std::string name;
  };
  format::FileHeader header{};
  std::vector<std::pair<std::uint32_t, std::string>> names;
  std::vector<Thread> threads;
  std::vector<format::HostEvents> events;         // by thread, then block
  std::map<std::uint32_t, std::uint64_t> health;  // by number
  std::vector<std::uint64_t> damaged_blocks;      // offsets
};

/// `first`: as many bytes as a LiveHeader has.
bool is_live_file(base::ByteView first) noexcept;

/// Every length and offset in it is checked: the file may be anything. Of a flight recorder's live file the blocks that
/// are free again are read too, since nothing else holds what is in them. The program may be writing to it: of a block
/// what was complete when its header was read is taken. Messages begin with the file's name.
Result<LiveContent> read_live_file(base::InputFile& file);

}  // namespace rangefinder::capture
