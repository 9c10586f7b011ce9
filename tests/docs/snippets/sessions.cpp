// SPDX-License-Identifier: MIT
// docs/how-to/record-a-long-job.md, watch-steps.md, look-at-operators.md
#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <iostream>
#include <string>
#include <vector>

// What the pages leave to their readers.
struct Batch {
  std::uint64_t tokens;
};
struct Scaler {
  bool step(int& optimizer);
};
void upload(const std::string& path, std::uint64_t first_step);
void log(const std::string& path, std::uint64_t count, std::int64_t gpu_busy_ns);
void log(std::int64_t p50_ns, std::int64_t p99_ns, double items_per_second);
void train(const Batch& batch);

rangefinder::SessionOptions captures_of_a_job() {
  rangefinder::SessionOptions options;
  options.output = "job-%r-%c.rfcap";
  options.schedule = {.skip_first = 100, .wait = 990, .warmup = 2, .active = 8};
  options.on_capture_ready = [](const rangefinder::CaptureReady& ready) { upload(ready.path, ready.first_step); };
  return options;
}

void figures_of_ranges(rangefinder::Session& session) {
  if (session.step_number() % 1000 == 0) {
    for (const rangefinder::SummaryRow& row : session.summary().rows) log(row.path, row.count, row.gpu_busy_ns);
  }
}

void figures_of_steps(rangefinder::Session& session) {
  const rangefinder::Summary now = session.summary();
  log(now.step_p50_ns, now.step_p99_ns, now.items_per_second());
}

void items(rangefinder::Session& session, const std::vector<Batch>& loader) {
  for (auto& batch : loader) {
    train(batch);
    session.step(batch.tokens);  // or samples; of the step that ends here
  }
}

void skipped_steps(rangefinder::Session& session, Scaler& scaler, int& optimizer, const Batch& batch) {
  if (!scaler.step(optimizer)) rangefinder::mark("skipped_step");
  session.step(batch.tokens);
}

void key_averages_of_itself(rangefinder::Session& session) {
  session.flush().value();
  rangefinder::LoadOptions load;
  load.operator_inputs = true;
  const auto timeline = rangefinder::load_timeline(session.output(), load);
  if (timeline.ok()) std::cout << rangefinder::key_averages_table(*timeline, rangefinder::key_averages(*timeline));
}
