// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "base/record_id.hpp"

#include <rangefinder/result.hpp>

#include <optional>
#include <string>

namespace rangefinder::session {

/// The `rangefinder record` that this process runs under, by its environment; none elsewhere. Without an id where
/// somebody else has set RANGEFINDER_RECORD.
std::optional<base::RecordId> record_of_environment() noexcept;

/// A file that this process has made, empty, so that no other one takes its name.
struct ClaimedFile {
  std::string path;
  base::Fd fd;
};

/// The name that was asked for, or where that is taken, with the process's number, and then a number of its own, before
/// the ending. What an earlier record left makes room; what this one has made, and what is being written, does not.
Result<ClaimedFile> claim_output(const std::string& asked, const base::RecordId& record);

/// Whether a name that we have numbered is free: what an earlier record left there makes room.
bool make_room(const std::string& numbered, const base::RecordId& record) noexcept;

}  // namespace rangefinder::session
