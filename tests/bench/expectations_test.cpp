// SPDX-License-Identifier: MIT
#include "bench/expectations.hpp"

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <limits>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::ScratchFolder;

namespace {

constexpr const char* kKey = "cpu_x_2t";

Measured measured(const std::string& name, double time_ns, double bytes = 1000, double launches = 4) {
  return {name,
          "speed",
          {{"baseline.cpu_ns", 5000, MetricKind::kTime},
           {"optimized.cpu_ns", time_ns, MetricKind::kTime},
           {"optimized.peak_bytes", bytes, MetricKind::kBytes},
           {"optimized.launches", launches, MetricKind::kCount}},
          {"c0ffee", kKey, "cpu", "cpu", "none", "warm", "2026-01-01T00:00:00Z", 20, 5, "2.11.0", "", ""}};
}

Measured with_ratios(const std::string& name, double time, double high, double bytes = 2) {
  Measured out = measured(name, 0);
  out.metrics.clear();
  out.ratios = {{"time", time, high}, {"bytes", bytes, bytes}};
  return out;
}

struct File {
  ScratchFolder folder;
  std::string path = folder.file("expectations_cpu_x_2t.json");

  UpdateReport write(const std::vector<Measured>& all, const UpdateOptions& options = {}) const {
    return update_expectations(path, kKey, all, options).value();
  }
  RegressionCheck check(const Measured& one) const { return Expectations::load(path, kKey).value().check(one); }
};

}  // namespace

TEST_CASE("expectations are for their user alone", "[bench]") {
  const File file;
  const ::mode_t before = ::umask(0);
  (void)file.write({measured("a", 1000)});
  ::umask(before);
  struct stat info {};
  REQUIRE(::stat(file.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("how much worse a metric may be depends on its kind", "[bench]") {
  const auto state = [](MetricKind kind, double stored, double value) { return state_of({"m", value, kind}, stored); };
  CHECK(state(MetricKind::kTime, 1000, 1250) == State::kMet);
  CHECK(state(MetricKind::kTime, 1000, 1251) == State::kRegressed);
  CHECK(state(MetricKind::kTime, 1000, 750) == State::kMet);
  CHECK(state(MetricKind::kTime, 1000, 749) == State::kImproved);
  CHECK(state(MetricKind::kTime, 4, 14) == State::kMet);  // less than any clock can tell
  CHECK(state(MetricKind::kBytes, 1000, 1020) == State::kMet);
  CHECK(state(MetricKind::kBytes, 1000, 1021) == State::kRegressed);
  CHECK(state(MetricKind::kCount, 4, 5) == State::kRegressed);
  CHECK(state(MetricKind::kCount, 4, 4) == State::kMet);
  CHECK(state(MetricKind::kCount, 4, 3) == State::kImproved);
  CHECK(state(MetricKind::kRate, 100, 74) == State::kRegressed);
  CHECK(state(MetricKind::kRate, 100, 126) == State::kImproved);
  CHECK(state(MetricKind::kFact, 100, 1) == State::kMet);
  CHECK(state(MetricKind::kTime, 1000, std::numeric_limits<double>::quiet_NaN()) == State::kRegressed);
}

TEST_CASE("an example is new, then met, improved or regressed", "[bench]") {
  const File file;
  CHECK(file.check(measured("a", 1000)).state == State::kNew);
  CHECK(file.write({measured("a", 1000)}).written == std::vector<std::string>{"a"});
  CHECK(file.check(measured("a", 1100)).state == State::kMet);
  CHECK(file.check(measured("a", 500)).state == State::kImproved);
  CHECK(file.check(measured("a", 2000)).state == State::kRegressed);
  CHECK(file.check(measured("a", 500, 1100)).state == State::kRegressed);  // the worst counts
  CHECK(file.check(measured("a", 1000, 1000, 5)).state == State::kRegressed);
  CHECK(file.check(measured("b", 1000)).state == State::kNew);
}

TEST_CASE("the baseline's figures are stored and never compared", "[bench]") {
  const File file;
  file.write({measured("a", 1000)});
  Measured slow = measured("a", 1000);
  slow.metrics[0].value = 50000;
  const RegressionCheck regression = file.check(slow);
  CHECK(regression.state == State::kMet);
  CHECK(regression.metrics.size() == 3);
  const Json written = load_json(file.path).value();
  CHECK(JsonView(written)["examples"]["a"]["metrics"]["baseline.cpu_ns"].number() == 5000);
}

TEST_CASE("a metric that is no longer reported is told", "[bench]") {
  const File file;
  file.write({measured("a", 1000)});
  Measured less = measured("a", 1000);
  less.metrics.pop_back();
  const RegressionCheck regression = file.check(less);
  CHECK(regression.state == State::kNotReported);
  CHECK(regression.metrics.back().name == "optimized.launches");
  CHECK(file.write({less}).refused.size() == 1);
}

TEST_CASE("a regression is stored on request only", "[bench]") {
  const File file;
  file.write({measured("a", 1000), measured("b", 1000)});
  const UpdateReport report = file.write({measured("a", 5000), measured("b", 400)});
  CHECK(report.written == std::vector<std::string>{"b"});
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused[0].find("a: optimized.cpu_ns regressed from 1000 to 5000") == 0);
  CHECK(file.check(measured("a", 1000)).state == State::kMet);
  CHECK(file.check(measured("b", 400)).state == State::kMet);
  file.write({measured("a", 5000)}, {true, false});
  CHECK(file.check(measured("a", 5000)).state == State::kMet);
}

TEST_CASE("figures under other conditions are neither compared nor replaced", "[bench]") {
  const File file;
  file.write({measured("a", 1000)});
  Measured other = measured("a", 9000);
  SECTION("another torch") { other.provenance.torch = "2.12.0"; }
  SECTION("another size") { other.provenance.size = "smoke"; }
  SECTION("another profile") { other.provenance.profile = "deep"; }
  const RegressionCheck regression = file.check(other);
  CHECK(regression.state == State::kNew);
  CHECK_FALSE(regression.conflict.empty());
  CHECK(file.write({other}).refused.size() == 1);
  CHECK(file.check(measured("a", 1000)).state == State::kMet);
  CHECK(file.write({other}, {false, true}).written.size() == 1);
  CHECK(file.check(other).state == State::kMet);
}

TEST_CASE("another commit, time and number of iterations are no other conditions", "[bench]") {
  const File file;
  file.write({measured("a", 1000)});
  Measured later = measured("a", 1000);
  later.provenance.commit = "decade";
  later.provenance.time = "2027-01-01T00:00:00Z";
  later.provenance.iterations = 100;
  CHECK(file.check(later).state == State::kMet);
}

TEST_CASE("the least ratio is some way below the median of the runs, or the lowest of them", "[bench]") {
  CHECK(least_of("time", {2}) == Approx(1.84));
  CHECK(least_of("bytes", {2}) == Approx(1.9));
  CHECK(least_of("time", {2.1, 1.9, 2, 2.05, 1.95}) == Approx(1.84));
  CHECK(least_of("time", {2.1, 1.7, 2}) == Approx(1.7));
  CHECK(state_of(Ratio{"time", 1.7, 1.8}, 1.84) == State::kRegressed);
  CHECK(state_of(Ratio{"time", 1.7, 1.84}, 1.84) == State::kMet);  // the interval reaches the least
  CHECK(state_of(Ratio{"time", 9, 9}, 1.84) == State::kMet);
}

TEST_CASE("ratios of runs are gathered, and compared by their interval", "[bench]") {
  const File file;
  CHECK(file.check(with_ratios("a", 4, 4.1)).state == State::kNew);
  for (const double time : {4.0, 4.2, 4.12345}) file.write({with_ratios("a", time, time + 0.1)});
  const Json document = load_json(file.path).value();
  const JsonView time = JsonView(document)["examples"]["a"]["ratios"]["time"];
  CHECK(time["runs"].json().dump() == "[4.0,4.2,4.123]");
  CHECK(time["least"].number() == Approx(3.793));
  CHECK_FALSE(JsonView(document)["examples"]["a"].has("metrics"));
  CHECK(file.check(with_ratios("a", 3.7, 3.9)).state == State::kMet);
  const RegressionCheck slow = file.check(with_ratios("a", 3.4, 3.6));
  CHECK(slow.state == State::kRegressed);
  REQUIRE(slow.metrics.size() == 2);
  CHECK(slow.metrics[0].name == "ratio.time");
  CHECK(slow.metrics[0].stored == Approx(3.793));
  CHECK(slow.metrics[0].measured == 3.4);
  CHECK(file.check(with_ratios("a", 4, 4.1, 1.8)).state == State::kRegressed);

  SECTION("one that regressed is refused, and where it is accepted, the others are not its like") {
    CHECK(file.write({with_ratios("a", 3, 3.1)}).refused.front() ==
          "a: ratio.time regressed from 3.793 to 3 (--accept-regressions replaces it)");
    file.write({with_ratios("a", 3, 3.1)}, {true, false});
    CHECK(file.check(with_ratios("a", 2.8, 2.9)).state == State::kMet);
    CHECK(file.check(with_ratios("a", 2.6, 2.7)).state == State::kRegressed);
  }
  SECTION("a ratio without an interval is neither compared nor stored") {
    const Measured few = with_ratios("a", 1, 0);
    CHECK(file.check(few).metrics.empty());
    CHECK(file.check(few).conflict == "fewer than 5 timed steps, too few for a ratio");
    CHECK(file.write({few}, {true, true}).refused.size() == 1);
  }
  SECTION("a ratio that is no longer measured is told") {
    Measured less = with_ratios("a", 4, 4.1);
    less.ratios.pop_back();
    CHECK(file.check(less).state == State::kNotReported);
    CHECK(file.check(less).metrics.back().name == "ratio.bytes");
  }
  SECTION("the last twenty runs are kept") {
    for (int run = 0; run < 30; ++run) file.write({with_ratios("a", 4, 4.1)});
    const Json now = load_json(file.path).value();
    CHECK(JsonView(now)["examples"]["a"]["ratios"]["time"]["runs"].items().size() == 20);
    CHECK(JsonView(now)["examples"]["a"]["ratios"]["time"]["least"].number() == Approx(3.68));
  }
}

TEST_CASE("expectations of another machine, and files that are none, are refused", "[bench]") {
  const File file;
  file.write({measured("a", 1000)});
  const auto other = Expectations::load(file.path, "h200");
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().code() == ErrorCode::kInvalidArgument);
  CHECK(other.error().message().find("this machine is \"h200\"") != std::string::npos);
  testing::write_file(file.path, "{\"schema_version\": 9, \"examples\": {}}");
  CHECK_FALSE(Expectations::load(file.path, kKey).ok());
  testing::write_file(file.path, "{");
  CHECK_FALSE(Expectations::load(file.path, kKey).ok());
  CHECK_FALSE(update_expectations(file.path, kKey, {measured("a", 1)}, {}).ok());
  CHECK(testing::read_file(file.path) == "{");
}

TEST_CASE("two runs do not write at once, and neither undoes the other", "[bench]") {
  const File file;
  file.write({measured("a", 1000)});
  const std::string before = testing::read_file(file.path);
  {
    const base::Fd held(::open((file.path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    REQUIRE(base::lock_file(held));
    const auto busy = update_expectations(file.path, kKey, {measured("b", 1000)}, {});
    REQUIRE_FALSE(busy.ok());
    CHECK(busy.error().code() == ErrorCode::kBusy);
    CHECK(testing::read_file(file.path) == before);
  }
  file.write({measured("b", 1000)});
  const Expectations both = Expectations::load(file.path, kKey).value();
  CHECK(both.has("a"));
  CHECK(both.has("b"));
  CHECK(file.folder.entries() == 2);  // the file and its lock: no temporary is left
}
