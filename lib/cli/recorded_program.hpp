// SPDX-License-Identifier: MIT
#pragma once

#include "base/record_id.hpp"

#include <rangefinder/result.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::cli {

struct ProgramToRecord {
  std::vector<std::string> words;                                ///< the program, looked for in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  ///< in addition to the command's
  std::string folder;                                            ///< where its captures go
  std::string name;                                              ///< of its capture, with placeholders
  base::RecordId record;
  int dump_signal = 0;  ///< goes to who records, and not to a launcher, which it would end; 0: none
};

struct Recorded {
  int wait_status = 0;                ///< as waitpid gives it
  int pid = 0;                        ///< of the program
  std::vector<std::string> captures;  ///< that the program and its children have left
};

/// The capture of the program, where its name is the same in all processes.
std::optional<std::string> file_of(const ProgramToRecord& program);

/// For ProgramToRecord::record.
Result<base::RecordId> new_record();

/// Runs the program to its end. Signals that we get meanwhile are handed on to it, unless it has got them too.
/// Errors: kNotFound, or kIo, where it cannot be executed.
Result<Recorded> run_program(const ProgramToRecord& program);

/// The program's exit status; does not return where a signal ended it: the same one ends us.
int end_as(int wait_status);

}  // namespace rangefinder::cli
