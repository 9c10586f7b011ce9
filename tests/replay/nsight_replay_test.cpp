// SPDX-License-Identifier: MIT
#include "replay/replayed.hpp"
#include "support/nsight_reports.hpp"
#include "support/seed.hpp"
#include "support/shared_data.hpp"

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("a program that Nsight recorded, played through the library, gets Nsight's own reports", "[replay][data]") {
  const auto [capture, reports] =
      GENERATE(Catch::Generators::table<std::string, std::size_t>({{"mini", 18}, {"h100_2gpu_1s", 8}}));
  const std::string folder = shared_file("data/nsys/" + capture);
  if (folder.empty()) RANGEFINDER_SKIP("data/nsys is not here");
  const NsightProgram program = read_nsight_program(folder + "/" + capture + ".sqlite");
  const std::vector<NsightReport> nsight = nsight_reports(folder);
  CHECK(nsight.size() == reports);
  for (const std::uint64_t seed : property_seeds(("replay of " + capture).c_str(), repeats(3))) {
    INFO("RANGEFINDER_SEED=" << seed);
    const Timeline timeline = replayed(program, seed);
    std::size_t rows = 0;
    for (const NsightReport& report : nsight) {
      CAPTURE(capture, report.view);
      const std::string ours = csv_of(timeline, report.view);
      if (report.text != ours) FAIL_CHECK(first_difference(report.text, ours));
      rows += report.rows();
    }
    std::printf("%s: %zu rows of %zu reports compared\n", capture.c_str(), rows, nsight.size());
    CHECK(rows > 0);
  }
}
