// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rangefinder::cli {

struct ProgramToRecord {
  std::vector<std::string> words;                                ///< the program, looked for in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  ///< on top of ours
  std::string folder;                                            ///< where its captures go
  std::string name;                                              ///< of the first, with placeholders
};

struct Recorded {
  int wait_status = 0;                ///< as waitpid gives it
  std::vector<std::string> captures;  ///< that the program and its children have left
};

/// Runs the program to its end. Signals to end that we get meanwhile are handed on to it.
/// Errors: kNotFound, or kIo, where it cannot be executed.
Result<Recorded> run_program(const ProgramToRecord& program);

/// The program's exit status; does not return where a signal ended it: the same one ends us.
int end_as(int wait_status);

}  // namespace rangefinder::cli
