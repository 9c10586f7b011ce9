// SPDX-License-Identifier: MIT
#include "capi/status.hpp"
#include "support/catch.hpp"

#include <rangefinder/c/rangefinder.h>

#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace rangefinder::capi {
namespace {

std::string last_error() { return rf_last_error(); }

TEST_CASE("each thread has its own last error", "[capi]") {
  fail(RF_STATUS_IO, {"of the first"});
  std::string before = "not looked at", after;
  std::thread([&] {
    before = last_error();
    fail(RF_STATUS_IO, {"of the ", "second"});
    after = last_error();
  }).join();
  CHECK(before.empty());
  CHECK(after == "of the second");
  CHECK(last_error() == "of the first");
}

TEST_CASE("a call that succeeds leaves the last error as it was", "[capi]") {
  fail(RF_STATUS_IO, {"kept"});
  rf_report_options options;
  REQUIRE(rf_report_options_init(&options, sizeof options) == RF_STATUS_OK);
  CHECK(last_error() == "kept");
}

TEST_CASE("a long message is cut between characters", "[capi]") {
  const std::string start(2046, 'x');
  SECTION("in front of one that does not fit") { fail(RF_STATUS_IO, {start, "\u00e4"}); }
  SECTION("and has nothing after the cut") { fail(RF_STATUS_IO, {start, "\u00e4", "y"}); }
  CHECK(last_error() == start);
}

TEST_CASE("what is thrown becomes a status", "[capi]") {
  CHECK(guarded("f", []() -> rf_status { throw std::bad_alloc(); }) == RF_STATUS_INTERNAL);
  CHECK(last_error() == "f: out of memory");
  CHECK(guarded("f", []() -> rf_status { throw std::length_error("too long"); }) == RF_STATUS_INTERNAL);
  CHECK(last_error() == "f: too long");
  CHECK(guarded("f", []() -> rf_status { throw 1; }) == RF_STATUS_INTERNAL);
}

TEST_CASE("a file that is not there is refused by all that read one", "[capi]") {
  rf_text* report = nullptr;
  CHECK(rf_report_job(nullptr, 1, nullptr, &report) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_report_job(nullptr, 0, nullptr, &report) == RF_STATUS_INVALID_ARGUMENT);
  const char* const inputs[] = {"/nowhere/a.rfcap", nullptr};
  CHECK(rf_report_job(inputs, 2, nullptr, &report) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_report_job(inputs, 1, nullptr, &report) == RF_STATUS_NOT_FOUND);
  CHECK(rf_report("/nowhere/a.rfcap", nullptr, &report) == RF_STATUS_NOT_FOUND);
  CHECK(last_error().find("rf_report: ") == 0);
  CHECK(last_error().find("/nowhere/a.rfcap") != std::string::npos);
  CHECK(report == nullptr);
  CHECK(rf_export_chrome_trace("/nowhere/a.rfcap", "/nowhere/b.json", nullptr, nullptr) == RF_STATUS_NOT_FOUND);
}

}  // namespace
}  // namespace rangefinder::capi
