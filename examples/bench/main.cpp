// SPDX-License-Identifier: MIT
// A worker: the program that holds benchmarks for `rangefinder bench run --worker`.
#include <rangefinder/bench/worker.hpp>

int main(int argc, char** argv) { return rangefinder::bench::worker_main(argc, argv); }
