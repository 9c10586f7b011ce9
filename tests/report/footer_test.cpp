// SPDX-License-Identifier: MIT
#include "report/footer.hpp"

#include "support/catch.hpp"

using namespace rangefinder;
using namespace rangefinder::report;

namespace {
Account some_account() {
  Account account;
  account.total = {1234, 10'000'000};
  account.owned = {1000, 6'130'000};
  account.outside = {200, 3'000'000};
  account.before = {33, 870'000};
  account.unknown = {1, 0};
  return account;
}
}  // namespace

TEST_CASE("the four ways of device time stand under each other with their shares", "[report]") {
  Footer footer;
  footer.account = some_account();
  CHECK(to_text(footer, {false, false, 0}) ==
        "device time  10.00 ms in 1,234 operations\n"
        "  owned by ranges                 6.130 ms   61.3 %  1,000 operations\n"
        "  launched outside any range      3.000 ms   30.0 %  200 operations\n"
        "  launched before the recording   870.0 us    8.7 %  33 operations\n"
        "  launch unknown                      0 ns    0.0 %  1 operation\n");
}

TEST_CASE("losses, notes and simulation are told, counters of 0 are not", "[report]") {
  Timeline timeline;
  timeline.simulated = true;
  timeline.health.dropped_ranges = 1234;
  timeline.health.unfinished_ranges = 2;
  timeline.notes.push_back("odd \x1b thing");
  const Footer footer = make_footer(timeline, std::nullopt);
  CHECK(footer.health.size() == 2);
  CHECK(to_text(footer, {false, false, 0}) ==
        "simulated: the device records come from a script\n"
        "lost  1,234 ranges dropped: no free block within the memory bound\n"
        "note  2 ranges still open when the recording stopped\n"
        "note  odd \\x1b thing\n");
  CHECK(to_text(footer, {false, true, 0}).find("\x1b[33mlost") != std::string::npos);
  CHECK(to_text(footer, {false, false, 30}) ==
        "simulated: the device records\ncome from a script\n"
        "lost  1,234 ranges dropped: no\n      free block within the\n      memory bound\n"
        "note  2 ranges still open when\n      the recording stopped\n"
        "note  odd \\x1b thing\n");
}

TEST_CASE("the footer's members of JSON are exact", "[report]") {
  Timeline timeline;
  timeline.health.lost_names = 3;
  timeline.notes.push_back("a \"b\"");
  std::string json;
  append_json_members(json, make_footer(timeline, some_account()));
  CHECK(
      json ==
      R"("account": {"total": {"gpu_ops": 1234, "gpu_sum_ns": 10000000}, "owned": {"gpu_ops": 1000, "gpu_sum_ns": 6130000}, "outside": {"gpu_ops": 200, "gpu_sum_ns": 3000000}, "before": {"gpu_ops": 33, "gpu_sum_ns": 870000}, "unknown": {"gpu_ops": 1, "gpu_sum_ns": 0}},
  "health": [{"counter": "lost_names", "count": 3, "severity": "loss", "text": "names that records refer to and the file does not hold"}],
  "notes": ["a \"b\""],
  "simulated": false)");
}

TEST_CASE("nothing to say is nothing said", "[report]") { CHECK(to_text(Footer(), {}).empty()); }
