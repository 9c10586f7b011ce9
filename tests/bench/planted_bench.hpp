// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/bench/harness.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing {

/// Runs benchmarks of planted_worker, in a folder of its own.
struct PlantedBench {
  ScratchFolder folder;
  bench::RunOptions options;
  bench::RunOutcome outcome;
  bench::Json results;

  PlantedBench() {
    options.worker = PLANTED_WORKER;
    options.out = folder.file("out");
    options.expectations = folder.file("expectations.json");
    options.timeout_s = 60;
  }

  int run(std::vector<std::string> targets) {
    options.targets = std::move(targets);
    outcome = bench::run(options).value();
    results = bench::parse_json(outcome.json).value();
    return outcome.exit_code;
  }
  bench::JsonView row(std::size_t index = 0) const { return bench::JsonView(results)["rows"].items().at(index); }
  std::string reason() const { return row()["reason"].text(); }
  bool says(const std::string& text) const { return reason().find(text) != std::string::npos; }
};

}  // namespace rangefinder::testing
