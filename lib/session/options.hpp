// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/session.hpp>

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

namespace rangefinder::session {

/// The options with RANGEFINDER_CONFIG applied; what it got wrong goes to the log.
SessionOptions with_environment(SessionOptions options);

/// A variable of the environment; null where it is not set, and in a setuid program, where it belongs to another user.
const char* environment(const char* name) noexcept;
/// Why nothing is recorded in this process: raised rights, or RANGEFINDER_DISABLE is set to anything but "" or "0";
/// null where recording is on.
const char* reason_not_to_record() noexcept;

/// Where the capture goes: placeholders filled in, or the default name.
/// %p process id, %h host name, %r rank (from the launcher's variables; 0 without).
std::string resolve_output(const std::string& pattern);
/// Whether processes, or ranks, that are told the same pattern have names of their own: %p or %r.
bool names_process(const std::string& pattern) noexcept;
/// "train.rfcap" and 7: "train.7.rfcap".
std::string with_number(const std::string& path, std::uint64_t number);

/// What launchers say, torchrun first, then Open MPI, MVAPICH, PMI, PMIx and Slurm: the first rank that is a number,
/// and the size that goes with it; -1: none.
int rank_from_environment() noexcept;
int world_size_from_environment() noexcept;

/// What is answered where memory is short: words that need none.
inline Error no_memory() noexcept { return Error(ErrorCode::kIo, "no memory"); }
/// What was thrown; with those words where there is no room for its own.
Error error_of(const std::exception& thrown, std::string_view context = {}) noexcept;
/// A copy; with those words where there is no room for its own.
Status copy_of(const Status& status) noexcept;

/// Prints to stderr when RANGEFINDER_LOG names this level or a chattier one: error, warn, info.
enum class LogLevel { kError, kWarn, kInfo };
void log(LogLevel level, std::initializer_list<std::string_view> message) noexcept;

}  // namespace rangefinder::session
