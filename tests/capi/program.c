// SPDX-License-Identifier: MIT
// The C interface from C: records, looks, exports, and makes mistakes. program FOLDER
#include <rangefinder/c/rangefinder.h>

#include <stdio.h>
#include <string.h>

static int failures;
static char path[3][1000];

#define CHECK(condition)                                                                               \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      ++failures;                                                                                      \
      fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, rf_last_error()); \
    }                                                                                                  \
  } while (0)
#define SUCCEEDS(call) CHECK((call) == RF_STATUS_OK)
// That it fails with this status, and says this.
#define FAILS(call, status, text) CHECK((call) == (status) && strstr(rf_last_error(), (text)) != NULL)

static void record_ranges(rf_session* session) {
  const rf_name forward = rf_name_intern("forward");
  const rf_category io = rf_category_intern("io");
  CHECK(forward != 0 && io != 0);
  for (int step = 0; step < 2; ++step) {
    SUCCEEDS(rf_range_push_text("step"));
    SUCCEEDS(rf_range_push(forward));
    rf_range_pop();
    SUCCEEDS(rf_range_push_with("load", io, rf_signed(-7)));
    rf_range_pop();
    rf_range_pop();
    SUCCEEDS(rf_mark("epoch", rf_none()));
    SUCCEEDS(rf_mark("file", rf_string("a.bin")));
    SUCCEEDS(rf_counter("loss", rf_double(0.5)));
    SUCCEEDS(rf_counter("tokens", rf_unsigned(64)));
    SUCCEEDS(rf_session_step(session, 64));
  }
  CHECK(rf_session_step_number(session) == 2);
  const rf_range_handle request = rf_range_start("request", io);
  CHECK(request != 0);
  rf_range_end(request);
}

static void look_at_summary(rf_session* session) {
  rf_summary* summary = NULL;
  SUCCEEDS(rf_session_summary(session, &summary));
  rf_summary_totals totals = {.struct_size = sizeof totals};
  SUCCEEDS(rf_summary_get_totals(summary, &totals));
  CHECK(totals.steps == 2 && totals.items == 128 && totals.step_ns > 0 && totals.gpu_total_ns == 0);
  CHECK(rf_summary_row_count(summary) == 4);
  rf_summary_row row = {.struct_size = sizeof row};
  SUCCEEDS(rf_summary_row_at(summary, 0, &row));
  CHECK(strcmp(row.path, "step") == 0 && row.depth == 0 && row.count == 2 && row.host_ns > 0);
  SUCCEEDS(rf_summary_find(summary, "step/load", &row));
  CHECK(strcmp(row.name, "load") == 0 && row.depth == 1 && row.count == 2);
  FAILS(rf_summary_row_at(summary, 4, &row), RF_STATUS_NOT_FOUND, "rf_summary_row_at: no row 4 of 4");
  FAILS(rf_summary_find(summary, "step/back", &row), RF_STATUS_NOT_FOUND, "'step/back'");
  FAILS(rf_summary_find(summary, NULL, &row), RF_STATUS_INVALID_ARGUMENT, "rf_summary_find: path is null");
  FAILS(rf_summary_find(summary, "step", NULL), RF_STATUS_INVALID_ARGUMENT, "row is null");
  row.struct_size = 8;
  FAILS(rf_summary_row_at(summary, 0, &row), RF_STATUS_INVALID_ARGUMENT, "struct_size is 8");
  rf_summary_free(summary);
}

static void look_at_health(const rf_session* session) {
  rf_health* health = NULL;
  SUCCEEDS(rf_session_health(session, &health));
  CHECK(rf_health_complete(health));
  CHECK(rf_health_count(health) > 20);
  rf_health_entry entry = {.struct_size = sizeof entry};
  SUCCEEDS(rf_health_at(health, 0, &entry));
  CHECK(strcmp(entry.name, "dropped_ranges") == 0 && entry.number == 1 && entry.loss && entry.count == 0);
  CHECK(strstr(entry.text, "no free block") != NULL);
  FAILS(rf_health_at(health, rf_health_count(health), &entry), RF_STATUS_NOT_FOUND, "rf_health_at: no entry");
  rf_health_free(health);
}

static void recording(void) {
  const rf_metadata facts[] = {{"model", "tiny"}};
  rf_session_options options;
  SUCCEEDS(rf_session_options_init(&options, sizeof options));
  options.output = path[0];
  options.config = "cuda=off,nvtx=off,memory=8MiB";
  options.metadata = facts;
  options.metadata_count = 1;
  rf_session* session = NULL;
  SUCCEEDS(rf_session_start(&options, &session));
  CHECK(rf_session_running(session));
  CHECK(strcmp(rf_session_output(session), path[0]) == 0);
  rf_session* second = session;
  FAILS(rf_session_start(&options, &second), RF_STATUS_BUSY, "rf_session_start: ");
  CHECK(second == NULL);

  record_ranges(session);
  look_at_summary(session);
  look_at_health(session);
  bool full = true;
  rf_text* reason = NULL;
  SUCCEEDS(rf_session_device(session, &full, &reason));
  CHECK(!full && rf_text_size(reason) > 0 && rf_text_size(reason) == strlen(rf_text_data(reason)));
  rf_text_free(reason);
  FAILS(rf_session_dump(session, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "flight recorder");
  SUCCEEDS(rf_session_flush(session));
  SUCCEEDS(rf_session_stop(session));
  SUCCEEDS(rf_session_stop(session));
  CHECK(!rf_session_running(session));
  rf_session_free(session);
}

static void exports(void) {
  rf_chrome_options options;
  SUCCEEDS(rf_chrome_options_init(&options, sizeof options));
  rf_chrome_report report = {.struct_size = sizeof report};
  SUCCEEDS(rf_export_chrome_trace(path[0], path[1], &options, &report));
  CHECK(report.events > 6 && report.json_bytes == report.output_bytes);
  FAILS(rf_export_chrome_trace(path[0], path[1], NULL, NULL), RF_STATUS_EXISTS, path[1]);
  options.replace = true;
  options.compression = RF_COMPRESSION_GZIP;
  SUCCEEDS(rf_export_chrome_trace(path[0], path[1], &options, &report));
  CHECK(report.json_bytes > report.output_bytes);
  options.compression = 9;
  FAILS(rf_export_chrome_trace(path[0], path[1], &options, NULL), RF_STATUS_INVALID_ARGUMENT, "compression: 9");
  FAILS(rf_export_chrome_trace(path[2], path[1], NULL, NULL), RF_STATUS_NOT_FOUND, path[2]);
  FAILS(rf_export_chrome_trace(NULL, path[1], NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "input is null");
  FAILS(rf_export_memory_snapshot(path[0], path[2], RF_SNAPSHOT_PEAK, false), RF_STATUS_NOT_FOUND, "allocations");
  FAILS(rf_export_memory_snapshot(path[0], path[2], 2, false), RF_STATUS_INVALID_ARGUMENT, "moment: 2");
}

static void reports(void) {
  rf_text* report = NULL;
  SUCCEEDS(rf_report(path[0], NULL, &report));
  CHECK(strstr(rf_text_data(report), "forward") != NULL);
  rf_text_free(report);
  rf_report_options options;
  SUCCEEDS(rf_report_options_init(&options, sizeof options));
  options.format = RF_REPORT_JSON;
  options.filter = "load";
  SUCCEEDS(rf_report(path[0], &options, &report));
  CHECK(rf_text_data(report)[0] == '{' && strstr(rf_text_data(report), "forward") == NULL);
  rf_text_free(report);
  options.view = "rangs";
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_NOT_FOUND, "ranges");
  CHECK(report == NULL);
  options.format = 3;
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_INVALID_ARGUMENT, "format: 3");
}

static void mistakes_with_options(void) {
  rf_session* session = NULL;
  rf_session_options options;
  FAILS(rf_session_options_init(NULL, sizeof options), RF_STATUS_INVALID_ARGUMENT, "options is null");
  FAILS(rf_session_options_init(&options, 4), RF_STATUS_INVALID_ARGUMENT, "struct_size is 4");
  SUCCEEDS(rf_session_options_init(&options, sizeof options));
  options.output = path[2];
  FAILS(rf_session_start(&options, NULL), RF_STATUS_INVALID_ARGUMENT, "session is null");
  options.config = "memroy=8MiB";
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "did you mean 'memory'?");
  options.config = NULL;
  options.memory_bytes = 1;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "memory_bytes");
  options.mode = 3;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "mode: 3");
  options.mode = RF_CAPTURE_RING;
  options.ring_time_ms = INT64_MAX;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "ring_time_ms: 9223372036854775807");
  options.ring_time_ms = 0;
  options.dump_signal = -1;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "dump_signal: -1");
  options.dump_signal = 0;
  options.metadata_count = 1;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "metadata is null");
  options.metadata_count = 0;
  options.reserved[4] = true;
  FAILS(rf_session_start(&options, &session), RF_STATUS_UNSUPPORTED, "`reserved`");
  CHECK(session == NULL);
}

static void mistakes_with_nulls(void) {
  FAILS(rf_session_step(NULL, 0), RF_STATUS_INVALID_ARGUMENT, "rf_session_step: session is null");
  FAILS(rf_session_flush(NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_flush");
  FAILS(rf_session_dump(NULL, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_dump");
  FAILS(rf_session_stop(NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_stop");
  FAILS(rf_session_device(NULL, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_device");
  rf_summary* summary;
  rf_health* health;
  FAILS(rf_session_summary(NULL, &summary), RF_STATUS_INVALID_ARGUMENT, "session is null");
  FAILS(rf_session_health(NULL, &health), RF_STATUS_INVALID_ARGUMENT, "session is null");
  CHECK(summary == NULL && health == NULL);
  CHECK(rf_session_step_number(NULL) == 0 && !rf_session_running(NULL) && rf_session_output(NULL)[0] == '\0');
  CHECK(rf_summary_row_count(NULL) == 0 && rf_health_count(NULL) == 0 && !rf_health_complete(NULL));
  CHECK(rf_text_data(NULL)[0] == '\0' && rf_text_size(NULL) == 0);
  rf_session_free(NULL);
  rf_summary_free(NULL);
  rf_health_free(NULL);
  rf_text_free(NULL);
  rf_range_end(0);
}

static void mistakes_with_ranges(void) {
  rf_range_pop();
  FAILS(rf_range_push_text(NULL), RF_STATUS_INVALID_ARGUMENT, "name is null");
  FAILS(rf_range_push_with("x", 65536, rf_none()), RF_STATUS_INVALID_ARGUMENT, "category");
  FAILS(rf_range_push_with("x", 0, rf_string(NULL)), RF_STATUS_INVALID_ARGUMENT, "null text");
  rf_value nothing = rf_none();
  nothing.kind = 77;
  FAILS(rf_mark("x", nothing), RF_STATUS_INVALID_ARGUMENT, "rf_mark: the value");
  FAILS(rf_mark(NULL, rf_none()), RF_STATUS_INVALID_ARGUMENT, "name is null");
  FAILS(rf_counter("x", rf_string("text")), RF_STATUS_INVALID_ARGUMENT, "rf_counter: the value");
  FAILS(rf_counter("x", rf_none()), RF_STATUS_INVALID_ARGUMENT, "rf_counter: the value");
  CHECK(rf_name_intern(NULL) == 0 && strstr(rf_last_error(), "rf_name_intern: text is null") != NULL);
  CHECK(rf_category_intern(NULL) == 0 && strstr(rf_last_error(), "rf_category_intern") != NULL);
  CHECK(rf_range_start(NULL, 0) == 0 && strstr(rf_last_error(), "rf_range_start: name is null") != NULL);
  CHECK(rf_range_start("nobody listens", 0) == 0);
}

int main(int argc, char** argv) {
  const char* const files[] = {"c.rfcap", "c.json", "absent"};
  for (int i = 0; i < 3 && argc > 1; ++i) snprintf(path[i], sizeof path[i], "%s/%s", argv[1], files[i]);
  remove(path[1]);
  CHECK(argc > 1);
  CHECK(rf_last_error()[0] == '\0');
  CHECK(rf_abi_version() == RF_ABI_VERSION && rf_version()[0] != '\0');
  CHECK(strcmp(rf_status_name(RF_STATUS_OK), "ok") == 0 && strcmp(rf_status_name(RF_STATUS_IO), "i/o") == 0);
  CHECK(strcmp(rf_status_name((rf_status)11), "unknown status") == 0);
  recording();
  exports();
  reports();
  mistakes_with_options();
  mistakes_with_nulls();
  mistakes_with_ranges();
  return failures != 0;
}
