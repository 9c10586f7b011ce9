// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/c/rangefinder.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

// The rules of struct_size, on every struct that a program passes.
namespace {

/// A struct as one of another version has it: larger by this much at most.
constexpr std::size_t kMore = 24;

struct Passed {
  std::string name;
  std::size_t size;
  std::size_t least;  // of the first version
  std::function<rf_status(void* place)> call;
  std::function<rf_status(void* place, std::size_t size)> init;  // of options; null for results
};

template <typename Struct>
Passed options(const char* name, std::size_t least, rf_status (*init)(Struct*, std::size_t),
               std::function<rf_status(const Struct*)> call) {
  return {name, sizeof(Struct), least, [call](void* place) { return call(static_cast<const Struct*>(place)); },
          [init](void* place, std::size_t size) { return init(static_cast<Struct*>(place), size); }};
}

template <typename Struct>
Passed result(const char* name, std::size_t least, std::function<rf_status(Struct*)> call) {
  return {name, sizeof(Struct), least, [call](void* place) { return call(static_cast<Struct*>(place)); }, nullptr};
}

#define UP_TO(type, member) (offsetof(type, member) + sizeof(type::member))

void set_size(void* place, std::size_t size) { std::memcpy(place, &size, sizeof size); }

void check_options(const Passed& passed) {
  INFO(passed.name);
  std::vector<unsigned char> place(passed.size + kMore, 0xAA);
  for (const std::size_t size : {std::size_t{0}, passed.least - 1}) {
    CHECK(passed.init(place.data(), size) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(place[0] == 0xAA);
  }
  CHECK(passed.init(place.data(), passed.least) == RF_STATUS_OK);
  CHECK(place[passed.least] == 0xAA);  // nothing past the end of an older one
  CHECK(passed.call(place.data()) == RF_STATUS_OK);
  set_size(place.data(), 0);
  CHECK(passed.call(place.data()) == RF_STATUS_INVALID_ARGUMENT);
  set_size(place.data(), passed.least - 1);
  CHECK(passed.call(place.data()) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(passed.init(place.data(), place.size()) == RF_STATUS_OK);
  CHECK(place.back() == 0);
  CHECK(passed.call(place.data()) == RF_STATUS_OK);
  place.back() = 1;
  CHECK(passed.call(place.data()) == RF_STATUS_UNSUPPORTED);
}

void check_result(const Passed& passed) {
  INFO(passed.name);
  std::vector<unsigned char> place(passed.size + kMore, 0xAA);
  for (const std::size_t size : {std::size_t{0}, passed.least - 1}) {
    set_size(place.data(), size);
    CHECK(passed.call(place.data()) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(place[sizeof size] == 0xAA);
  }
  set_size(place.data(), passed.least);
  CHECK(passed.call(place.data()) == RF_STATUS_OK);
  CHECK(place[passed.least] == 0xAA);
  set_size(place.data(), place.size());
  CHECK(passed.call(place.data()) == RF_STATUS_OK);
  CHECK(place.back() == 0);
}

}  // namespace

TEST_CASE("structs of every size are taken by the rules", "[capi]") {
  const rangefinder::testing::ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  const std::string exported = folder.file("a.json");

  rf_session* session = nullptr;
  check_options(options<rf_session_options>("session", UP_TO(rf_session_options, on_capture_ready_user),
                                            rf_session_options_init, [&](const rf_session_options* given) {
                                              rf_session_free(session);
                                              // The members that all versions have; a larger one keeps its tail.
                                              auto* const own = const_cast<rf_session_options*>(given);
                                              own->output = capture.c_str();
                                              return rf_session_start(own, &session);
                                            }));
  rf_session_free(session);
  session = nullptr;
  rf_session_options recorded;
  REQUIRE(rf_session_options_init(&recorded, sizeof recorded) == RF_STATUS_OK);
  recorded.output = capture.c_str();
  REQUIRE(rf_session_start(&recorded, &session) == RF_STATUS_OK);
  rf_range_push_with("aten::mm", rf_category_intern("operator"), rf_none());
  rf_range_pop();
  rf_range_push_text("seen");
  rf_range_pop();
  rf_summary* summary = nullptr;
  REQUIRE(rf_session_summary(session, &summary) == RF_STATUS_OK);
  check_result(result<rf_summary_totals>("totals", UP_TO(rf_summary_totals, pending_launches),
                                         [&](rf_summary_totals* out) { return rf_summary_get_totals(summary, out); }));
  check_result(result<rf_summary_row>("row", UP_TO(rf_summary_row, depth),
                                      [&](rf_summary_row* out) { return rf_summary_row_at(summary, 0, out); }));
  check_result(result<rf_summary_row>("found row", UP_TO(rf_summary_row, depth),
                                      [&](rf_summary_row* out) { return rf_summary_find(summary, "seen", out); }));
  rf_summary_free(summary);
  rf_health* health = nullptr;
  REQUIRE(rf_session_health(session, &health) == RF_STATUS_OK);
  check_result(result<rf_health_entry>("health", UP_TO(rf_health_entry, loss),
                                       [&](rf_health_entry* out) { return rf_health_at(health, 0, out); }));
  rf_health_free(health);
  REQUIRE(rf_session_stop(session) == RF_STATUS_OK);
  rf_session_free(session);

  check_options(options<rf_report_options>("report", UP_TO(rf_report_options, colour), rf_report_options_init,
                                           [&](const rf_report_options* given) {
                                             rf_text* text = nullptr;
                                             const rf_status status = rf_report(capture.c_str(), given, &text);
                                             rf_text_free(text);
                                             return status;
                                           }));
  check_options(options<rf_chrome_options>(
      "chrome", UP_TO(rf_chrome_options, progress_user), rf_chrome_options_init, [&](const rf_chrome_options* given) {
        const_cast<rf_chrome_options*>(given)->replace = true;
        return rf_export_chrome_trace(capture.c_str(), exported.c_str(), given, nullptr);
      }));
  check_options(options<rf_diff_options>(
      "diff", UP_TO(rf_diff_options, reserved), rf_diff_options_init, [&](const rf_diff_options* given) {
        rf_text* text = nullptr;
        const rf_status status = rf_diff(capture.c_str(), capture.c_str(), given, &text);
        rf_text_free(text);
        return status;
      }));
  rf_gate* gate = nullptr;
  const char* const path = capture.c_str();
  check_options(options<rf_gate_options>("gate", UP_TO(rf_gate_options, strict), rf_gate_options_init,
                                         [&](const rf_gate_options* given) {
                                           rf_gate_free(gate);
                                           return rf_gate_run(&path, 1, &path, 1, given, &gate);
                                         }));
  rf_gate_free(gate);
  REQUIRE(rf_gate_run(&path, 1, &path, 1, nullptr, &gate) == RF_STATUS_OK);
  check_result(result<rf_gate_check>("gate check", UP_TO(rf_gate_check, is_share),
                                     [&](rf_gate_check* out) { return rf_gate_check_at(gate, 0, out); }));
  rf_gate_free(gate);
  const std::string trace = folder.file("a.pftrace");
  check_options(options<rf_perfetto_options>("perfetto", UP_TO(rf_perfetto_options, max_memory_bytes),
                                             rf_perfetto_options_init, [&](const rf_perfetto_options* given) {
                                               const_cast<rf_perfetto_options*>(given)->replace = true;
                                               return rf_export_perfetto_trace(capture.c_str(), trace.c_str(), given,
                                                                               nullptr);
                                             }));
  rf_perfetto_options replacing_trace;
  REQUIRE(rf_perfetto_options_init(&replacing_trace, sizeof replacing_trace) == RF_STATUS_OK);
  replacing_trace.replace = true;
  check_result(
      result<rf_perfetto_report>("perfetto report", UP_TO(rf_perfetto_report, left_out), [&](rf_perfetto_report* out) {
        return rf_export_perfetto_trace(capture.c_str(), trace.c_str(), &replacing_trace, out);
      }));
  const std::string pickle = folder.file("a.pickle");
  check_options(options<rf_snapshot_options>(
      "snapshot", UP_TO(rf_snapshot_options, reserved), rf_snapshot_options_init,
      [&](const rf_snapshot_options* given) {
        const rf_status status = rf_export_memory_snapshot_with(capture.c_str(), pickle.c_str(), given);
        return status == RF_STATUS_NOT_FOUND ? RF_STATUS_OK
                                             : status;  // options are taken, and there are no allocations
      }));
  const std::string page = folder.file("a.html");
  check_options(options<rf_html_options>("html", UP_TO(rf_html_options, progress_user), rf_html_options_init,
                                         [&](const rf_html_options* given) {
                                           const_cast<rf_html_options*>(given)->replace = true;
                                           return rf_export_html(capture.c_str(), page.c_str(), given, nullptr);
                                         }));
  rf_html_options replacing_page;
  REQUIRE(rf_html_options_init(&replacing_page, sizeof replacing_page) == RF_STATUS_OK);
  replacing_page.replace = true;
  check_result(result<rf_html_report>("html report", UP_TO(rf_html_report, output_bytes), [&](rf_html_report* out) {
    return rf_export_html(capture.c_str(), page.c_str(), &replacing_page, out);
  }));
  rf_chrome_options replacing;
  REQUIRE(rf_chrome_options_init(&replacing, sizeof replacing) == RF_STATUS_OK);
  replacing.replace = true;
  check_result(result<rf_chrome_report>("chrome report", UP_TO(rf_chrome_report, left_out), [&](rf_chrome_report* out) {
    return rf_export_chrome_trace(capture.c_str(), exported.c_str(), &replacing, out);
  }));
  check_result(result<rf_report_view>("view", UP_TO(rf_report_view, nsight_compatible),
                                      [](rf_report_view* out) { return rf_report_view_at(0, out); }));

  rf_key_averages* averages = nullptr;
  REQUIRE(rf_key_averages_load(capture.c_str(), false, &averages) == RF_STATUS_OK);
  check_result(result<rf_operator_group>("group", UP_TO(rf_operator_group, device_self_bytes),
                                         [&](rf_operator_group* out) { return rf_key_averages_at(averages, 0, out); }));
  rf_key_averages_free(averages);
  rf_capture* opened = nullptr;
  REQUIRE(rf_capture_inspect(capture.c_str(), false, &opened) == RF_STATUS_OK);
  check_result(result<rf_capture_facts>("facts", UP_TO(rf_capture_facts, simulated),
                                        [&](rf_capture_facts* out) { return rf_capture_get_facts(opened, out); }));
  check_result(result<rf_capture_content>("content", UP_TO(rf_capture_content, bytes), [&](rf_capture_content* out) {
    return rf_capture_content_at(opened, 0, out);
  }));
  rf_capture_free(opened);
  rf_doctor* doctor = nullptr;
  REQUIRE(rf_doctor_run(nullptr, &doctor) == RF_STATUS_OK);
  check_result(result<rf_doctor_finding>("finding", UP_TO(rf_doctor_finding, state),
                                         [&](rf_doctor_finding* out) { return rf_doctor_at(doctor, 0, out); }));
  rf_doctor_free(doctor);
}
