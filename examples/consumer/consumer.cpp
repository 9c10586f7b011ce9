// SPDX-License-Identifier: MIT
// Marks ranges, records them, reads the capture back.
//
//   consumer FILE.rfcap
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace {

double sum_of_squares(int n) {
  rangefinder::ProfileRange range{"sum"};
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(i) * i;
  return sum;
}

int fail(const rangefinder::Error& error) {
  std::fprintf(stderr, "consumer: %s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  rangefinder::SessionOptions options;
  options.output = argc > 1 ? argv[1] : "consumer.rfcap";
  options.cuda = false;  // this program has nothing to do on a GPU
  rangefinder::Session session{options};
  if (!session.status().ok()) return fail(session.status().error());

  double total = 0;
  for (int i = 0; i < 3; ++i) {
    rangefinder::ProfileRange step{"step", i};
    total += sum_of_squares(1000 * (i + 1));
    rangefinder::counter("total", total);
    session.step();
  }
  if (rangefinder::Status status = session.stop(); !status.ok()) return fail(status.error());

  rangefinder::Result<rangefinder::Timeline> timeline = rangefinder::load_timeline(session.output());
  if (!timeline) return fail(timeline.error());
  std::printf("%zu ranges in %s, %s\n", timeline->ranges.size(), session.output().c_str(),
              timeline->health.complete() ? "nothing lost" : "some lost");
  for (std::size_t i = 0; i < timeline->ranges.size(); ++i) {
    const std::string name(timeline->text(timeline->ranges.name[i]));
    std::printf("  %-6s %lld ns\n", name.c_str(),
                static_cast<long long>(timeline->ranges.end_ns[i] - timeline->ranges.begin_ns[i]));
  }
  return timeline->ranges.size() == 6 && timeline->health.complete() ? 0 : 1;
}
