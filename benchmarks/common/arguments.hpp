// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>

namespace bench {

/// An option of a benchmark, "--rounds", and the variable for its value: a text, or a whole number of at least 1.
struct Argument {
  const char* name;
  std::variant<int*, std::uint32_t*, std::uint64_t*, std::string*> value;
};

/// Fills the variables from a command line, "--rounds 20 --only nvtx". --help prints the options and ends the program;
/// what is not among them, or no such value, ends it with status 2.
///
///   bench::read_arguments(argc, argv, {{"--rounds", &options.rounds}, {"--only", &options.only}});
void read_arguments(int argc, char** argv, std::initializer_list<Argument> known);

}  // namespace bench
