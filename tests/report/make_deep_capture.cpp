// SPDX-License-Identifier: MIT
#include "support/deep_capture.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

// Writes a capture whose ranges nest without end; deep_nesting.py measures the command on some.
int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "make_deep_capture FILE DEPTH [own-names] [operators]\n"), 2;
  rangefinder::testing::DeepShape shape;
  shape.depth = std::strtoull(argv[2], nullptr, 10);
  for (int i = 3; i < argc; ++i) {
    shape.own_names = shape.own_names || std::string_view(argv[i]) == "own-names";
    shape.operators = shape.operators || std::string_view(argv[i]) == "operators";
  }
  try {
    rangefinder::testing::deep_capture(shape).write(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "make_deep_capture: %s\n", error.what()), 1;
  }
}
