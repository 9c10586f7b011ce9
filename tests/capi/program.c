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
    SUCCEEDS(rf_range_push_with("aten::mm", rf_category_intern("operator"), rf_none()));
    rf_range_pop();
    SUCCEEDS(rf_mark("epoch", rf_none()));
    SUCCEEDS(rf_mark("file", rf_string("a.bin")));
    SUCCEEDS(rf_counter("loss", rf_double(0.5)));
    SUCCEEDS(rf_counter("tokens", rf_unsigned(64)));
    SUCCEEDS(rf_mark_named(forward, rf_none()));
    SUCCEEDS(rf_mark_named(forward, rf_string("named")));
    SUCCEEDS(rf_counter_named(forward, rf_double(1.5)));
    FAILS(rf_counter_named(forward, rf_string("no number")), RF_STATUS_INVALID_ARGUMENT, "rf_counter_named: the value");
    FAILS(rf_mark_named(forward, rf_string(NULL)), RF_STATUS_INVALID_ARGUMENT, "rf_mark_named: the value");
    SUCCEEDS(rf_session_step(session, 64));
  }
  CHECK(rf_session_step_number(session) == 2);
  CHECK(rf_range_depth() == 0);
  SUCCEEDS(rf_range_push_text("kept"));
  for (int i = 0; i < 3; ++i) SUCCEEDS(rf_range_push(forward));
  CHECK(rf_range_depth() == 4);
  rf_range_pop_to(7);
  CHECK(rf_range_depth() == 4);
  rf_range_pop_to(1);
  CHECK(rf_range_depth() == 1);
  rf_range_pop();
  rf_range_pop_to(0);
  CHECK(rf_range_depth() == 0);
  const rf_range_handle request = rf_range_start("request", io);
  CHECK(request != 0);
  rf_range_end(request);
  CHECK(rf_listening());
}

static void look_at_summary(rf_session* session) {
  rf_summary* summary = NULL;
  SUCCEEDS(rf_session_summary(session, &summary));
  rf_summary_totals totals = {.struct_size = sizeof totals};
  SUCCEEDS(rf_summary_get_totals(summary, &totals));
  CHECK(totals.steps == 2 && totals.items == 128 && totals.step_ns > 0 && totals.gpu_total_ns == 0);
  CHECK(rf_summary_row_count(summary) == 8);
  rf_summary_row row = {.struct_size = sizeof row};
  SUCCEEDS(rf_summary_row_at(summary, 0, &row));
  CHECK(strcmp(row.path, "step") == 0 && row.depth == 0 && row.count == 2 && row.host_ns > 0);
  SUCCEEDS(rf_summary_find(summary, "step/load", &row));
  CHECK(strcmp(row.name, "load") == 0 && row.depth == 1 && row.count == 2);
  FAILS(rf_summary_row_at(summary, 8, &row), RF_STATUS_NOT_FOUND, "rf_summary_row_at: no row 8 of 8");
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
  for (size_t i = 0; i < rf_health_count(health); ++i) {
    SUCCEEDS(rf_health_at(health, i, &entry));
    uint64_t count = entry.count + 1;
    SUCCEEDS(rf_health_get(health, entry.name, &count));
    CHECK(count == entry.count);
  }
  uint64_t count = 7;
  FAILS(rf_health_get(health, "dropped_rangs", &count), RF_STATUS_NOT_FOUND, "'dropped_rangs'");
  CHECK(count == 0);
  FAILS(rf_health_get(health, NULL, &count), RF_STATUS_INVALID_ARGUMENT, "rf_health_get: name is null");
  FAILS(rf_health_get(health, "dropped_ranges", NULL), RF_STATUS_INVALID_ARGUMENT, "rf_health_get: count is null");
  FAILS(rf_health_get(NULL, "dropped_ranges", &count), RF_STATUS_INVALID_ARGUMENT, "rf_health_get: health is null");
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
  SUCCEEDS(rf_session_release_cupti(session));
  CHECK(rf_session_running(session));
  SUCCEEDS(rf_session_stop(session));
  SUCCEEDS(rf_session_stop(session));
  SUCCEEDS(rf_session_release_cupti(session));
  CHECK(!rf_session_running(session));
  rf_session_free(session);
}

static void bounded_exports(void) {
  rf_chrome_options chrome;
  SUCCEEDS(rf_chrome_options_init(&chrome, sizeof chrome));
  CHECK(chrome.max_memory_bytes == 0);
  chrome.replace = true;
  chrome.max_memory_bytes = 1;
  SUCCEEDS(rf_export_chrome_trace(path[0], path[1], &chrome, NULL));  // in windows
  rf_snapshot_options snapshot;
  SUCCEEDS(rf_snapshot_options_init(&snapshot, sizeof snapshot));
  CHECK(snapshot.max_memory_bytes == 0 && snapshot.moment == RF_SNAPSHOT_END && !snapshot.replace);
  snapshot.max_memory_bytes = 1;
  FAILS(rf_export_memory_snapshot_with(path[0], path[2], &snapshot), RF_STATUS_TOO_LARGE, "max_memory_bytes");
  snapshot.max_memory_bytes = UINT64_MAX;
  FAILS(rf_export_memory_snapshot_with(path[0], path[2], &snapshot), RF_STATUS_NOT_FOUND, "allocations");
  snapshot.moment = 2;
  FAILS(rf_export_memory_snapshot_with(path[0], path[2], &snapshot), RF_STATUS_INVALID_ARGUMENT, "moment: 2");
  snapshot.reserved[0] = true;
  FAILS(rf_export_memory_snapshot_with(path[0], path[2], &snapshot), RF_STATUS_UNSUPPORTED, "reserved");
  FAILS(rf_export_memory_snapshot_with(path[0], path[2], NULL), RF_STATUS_NOT_FOUND, "allocations");
}

static void pages(void) {
  rf_html_options options;
  SUCCEEDS(rf_html_options_init(&options, sizeof options));
  CHECK(options.title == NULL && options.most_slices == 1000000 && options.max_memory_bytes == 0 && !options.replace);
  options.title = "a capture";
  rf_html_report report = {.struct_size = sizeof report};
  SUCCEEDS(rf_export_html(path[0], path[2], &options, &report));
  CHECK(report.slices > 0 && report.left_out == 0 && report.output_bytes > 0);
  FAILS(rf_export_html(path[0], path[2], NULL, NULL), RF_STATUS_EXISTS, path[2]);
  options.replace = true;
  options.most_slices = 1;
  FAILS(rf_export_html(path[0], path[2], &options, NULL), RF_STATUS_INVALID_ARGUMENT, "most_slices 1");
  options.attribution = 9;
  FAILS(rf_export_html(path[0], path[2], &options, NULL), RF_STATUS_INVALID_ARGUMENT, "attribution: 9");
  FAILS(rf_export_html(path[0], NULL, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "output is null");
  CHECK(remove(path[2]) == 0);
}

static void perfetto_traces(void) {
  rf_perfetto_options options;
  SUCCEEDS(rf_perfetto_options_init(&options, sizeof options));
  CHECK(options.gpu == RF_PERFETTO_STAGES && options.flows && options.end_ns == INT64_MAX && !options.replace);
  rf_perfetto_report report = {.struct_size = sizeof report};
  SUCCEEDS(rf_export_perfetto_trace(path[0], path[2], &options, &report));
  CHECK(report.slices > 0 && report.events >= report.slices && report.trace_bytes == report.output_bytes);
  FAILS(rf_export_perfetto_trace(path[0], path[2], NULL, NULL), RF_STATUS_EXISTS, path[2]);
  options.replace = true;
  options.gpu = RF_PERFETTO_SLICES;
  options.compression = RF_COMPRESSION_GZIP;
  SUCCEEDS(rf_export_perfetto_trace(path[0], path[2], &options, &report));
  CHECK(report.trace_bytes > report.output_bytes);
  options.gpu = 3;
  FAILS(rf_export_perfetto_trace(path[0], path[2], &options, NULL), RF_STATUS_INVALID_ARGUMENT, "gpu: 3");
  options.reserved[3] = true;
  FAILS(rf_export_perfetto_trace(path[0], path[2], &options, NULL), RF_STATUS_UNSUPPORTED, "reserved");
  FAILS(rf_export_perfetto_trace(path[0], NULL, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "output is null");
  CHECK(remove(path[2]) == 0);
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
  FAILS(rf_export_memory_snapshot(path[0], NULL, 0, false), RF_STATUS_INVALID_ARGUMENT, "output is null");
  bounded_exports();
  perfetto_traces();
  pages();
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
  SUCCEEDS(rf_report_options_init(&options, sizeof options));
  options.max_memory_bytes = 1;
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_TOO_LARGE, "max_memory_bytes");
}

// The report begins with `text`.
static void shows(const rf_report_options* options, const char* text) {
  rf_text* report = NULL;
  SUCCEEDS(rf_report(path[0], options, &report));
  if (strncmp(rf_text_data(report), text, strlen(text)) != 0) {
    ++failures;
    fprintf(stderr, "%s, and not\n%s\n", rf_text_data(report), text);
  }
  rf_text_free(report);
}

static void chosen_reports(void) {
  rf_report_options options;
  SUCCEEDS(rf_report_options_init(&options, sizeof options));
  CHECK(options.columns == NULL && options.payload == NULL && !options.by_payload && !options.absolute_times);
  CHECK(options.overview && !options.terminal);
  options.format = RF_REPORT_CSV;
  options.columns = "count,range";
  options.payload = "load<0";
  shows(&options, "Count,Range\n2,load\n");
  options.payload = NULL;
  options.filter = "load";
  options.by_payload = true;
  options.columns = "range,payload,count";
  shows(&options, "Range,Payload,Count\nload,-7,2\n");
  options.columns = "nothing";
  rf_text* report = NULL;
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_INVALID_ARGUMENT, "no column \"nothing\"");
  options.columns = NULL;
  options.payload = "seven";
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_INVALID_ARGUMENT, "seven");
  SUCCEEDS(rf_report_options_init(&options, sizeof options));
  CHECK(options.by == NULL);
  options.by = "step";
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_INVALID_ARGUMENT, "use --view breakdown");
  options.view = "breakdown";
  options.format = RF_REPORT_CSV;
  shows(&options, "Device,Step,Computation (ns)");
  SUCCEEDS(rf_report_options_init(&options, sizeof options));
  CHECK(options.of == NULL);
  options.of = "all";
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_INVALID_ARGUMENT, "use --view critical_path");
  options.view = "critical_path";
  options.format = RF_REPORT_CSV;
  shows(&options, "Reason,Time (ns)");
  options.of = "range:load";
  options.by = "range";
  shows(&options, "Range,Time (ns)");
  options.of = "range:nothing of that name";
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_NOT_FOUND, "no range nothing of that name");
  SUCCEEDS(rf_report_options_init(&options, sizeof options));
  options.reserved[2] = true;
  FAILS(rf_report(path[0], &options, &report), RF_STATUS_UNSUPPORTED, "reserved");
}

static void views(void) {
  size_t trees = 0;
  rf_report_view view = {.struct_size = sizeof view};
  for (size_t i = 0; i < rf_report_view_count(); ++i) {
    SUCCEEDS(rf_report_view_at(i, &view));
    CHECK(view.description[0] != '\0');
    if (strcmp(view.name, "tree") == 0 && !view.nsight_compatible) ++trees;
  }
  CHECK(trees == 1);
  FAILS(rf_report_view_at(rf_report_view_count(), &view), RF_STATUS_NOT_FOUND, "rf_report_view_at: no entry");
}

static void captures(void) {
  rf_capture* capture = NULL;
  SUCCEEDS(rf_capture_inspect(path[0], true, &capture));
  rf_capture_facts facts = {.struct_size = sizeof facts};
  SUCCEEDS(rf_capture_get_facts(capture, &facts));
  CHECK(strcmp(facts.path, path[0]) == 0 && strstr(facts.device_state, "cuda=off") != NULL);
  CHECK(facts.ended_cleanly && !facts.simulated && facts.file_bytes > 0 && facts.duration_ns > 0 && facts.threads == 1);
  size_t found = 0;
  for (size_t i = 0; i < rf_capture_content_count(capture); ++i) {
    rf_capture_content content = {.struct_size = sizeof content};
    SUCCEEDS(rf_capture_content_at(capture, i, &content));
    if (strcmp(content.kind, "host events") == 0 && content.rows > 0 && content.bytes > 0) ++found;
  }
  CHECK(found == 1);
  found = 0;
  for (size_t i = 0; i < rf_capture_metadata_count(capture); ++i) {
    rf_metadata fact;
    SUCCEEDS(rf_capture_metadata_at(capture, i, &fact));
    if (strcmp(fact.key, "model") == 0 && strcmp(fact.value, "tiny") == 0) ++found;
  }
  CHECK(found == 1);
  CHECK(rf_capture_finding_count(capture) == 0);
  rf_capture_finding finding = {.struct_size = sizeof finding};
  FAILS(rf_capture_finding_at(capture, 0, &finding), RF_STATUS_NOT_FOUND, "rf_capture_finding_at: no entry 0 of 0");
  rf_health* health = NULL;
  SUCCEEDS(rf_capture_health(capture, &health));
  CHECK(rf_health_complete(health));
  rf_health_free(health);
  rf_capture_free(capture);

  // Cut in the middle: what is wrong with it is found, and what is whole repaired.
  FILE* from = fopen(path[0], "rb");
  FILE* to = fopen(path[2], "wb");
  CHECK(from != NULL && to != NULL);
  for (uint64_t i = 0; i + 100 < facts.file_bytes; ++i) fputc(fgetc(from), to);
  fclose(from);
  fclose(to);
  SUCCEEDS(rf_capture_inspect(path[2], true, &capture));
  CHECK(rf_capture_finding_count(capture) > 0);
  SUCCEEDS(rf_capture_finding_at(capture, 0, &finding));
  CHECK(finding.text[0] != '\0' && finding.offset < facts.file_bytes);
  rf_capture_free(capture);
  uint64_t records = 0;
  SUCCEEDS(rf_capture_repair(path[2], path[1], true, &records));
  CHECK(records > 0);
  FAILS(rf_capture_repair(path[2], path[1], false, &records), RF_STATUS_EXISTS, path[1]);
  SUCCEEDS(rf_capture_inspect(path[1], true, &capture));
  CHECK(rf_capture_finding_count(capture) == 0);
  rf_capture_free(capture);
  remove(path[1]);
  remove(path[2]);
  FAILS(rf_capture_inspect(path[2], false, &capture), RF_STATUS_NOT_FOUND, path[2]);
  CHECK(capture == NULL);
}

static void averages(void) {
  rf_key_averages* averages = NULL;
  SUCCEEDS(rf_key_averages_load(path[0], false, &averages));
  CHECK(rf_key_averages_count(averages) > 0);
  rf_operator_group group = {.struct_size = sizeof group};
  uint64_t calls = 0;
  for (size_t i = 0; i < rf_key_averages_count(averages); ++i) {
    SUCCEEDS(rf_key_averages_at(averages, i, &group));
    CHECK(group.cpu_self_ns <= group.cpu_total_ns && group.shapes[0] == '\0');
    if (strcmp(group.name, "aten::mm") == 0) calls = group.calls;
    CHECK(group.flops == 0 && group.calls_without_flops == group.calls);  // no shapes
  }
  CHECK(calls == 2);
  FAILS(rf_key_averages_at(averages, 1000, &group), RF_STATUS_NOT_FOUND, "no entry 1000");
  int64_t cpu_ns = 0;
  SUCCEEDS(rf_key_averages_totals(averages, &cpu_ns, NULL));
  CHECK(cpu_ns > 0);
  rf_text* table = NULL;
  SUCCEEDS(rf_key_averages_table(averages, RF_KEY_AVERAGES_CPU_SELF, 1, &table));
  CHECK(strstr(rf_text_data(table), "Self CPU") != NULL);
  rf_text_free(table);
  FAILS(rf_key_averages_table(averages, 7, 0, &table), RF_STATUS_INVALID_ARGUMENT, "order: 7");
  rf_key_averages_free(averages);
  FAILS(rf_key_averages_load(path[2], true, &averages), RF_STATUS_NOT_FOUND, path[2]);
  CHECK(averages == NULL);
}

static void doctor(void) {
  rf_doctor* doctor = NULL;
  SUCCEEDS(rf_doctor_run(NULL, &doctor));
  CHECK(rf_doctor_count(doctor) > 3);
  size_t clocks = 0;
  for (size_t i = 0; i < rf_doctor_count(doctor); ++i) {
    rf_doctor_finding finding = {.struct_size = sizeof finding};
    SUCCEEDS(rf_doctor_at(doctor, i, &finding));
    CHECK(finding.state <= RF_DOCTOR_MISSING && finding.detail[0] != '\0');
    CHECK(finding.state != RF_DOCTOR_GOOD || finding.fix[0] == '\0');
    if (strcmp(finding.topic, "clock") == 0) ++clocks;
  }
  CHECK(clocks == 1);
  rf_doctor_finding finding = {.struct_size = sizeof finding};
  FAILS(rf_doctor_at(doctor, 1000, &finding), RF_STATUS_NOT_FOUND, "no entry 1000");
  rf_doctor_free(doctor);
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
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT,
        "rf_session_start: memory_bytes: 1 is not a number of bytes of at least 8388608");
  options.memory_bytes = 8 << 20;
  options.mode = 3;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "mode: 3");
  options.mode = RF_CAPTURE_RING;
  options.graph_tracing = 3;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "graph_tracing: 3");
  options.graph_tracing = RF_GRAPHS_AUTOMATIC;
  options.cuda_idle = 3;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "cuda_idle: 3");
  options.cuda_idle = RF_CUDA_IDLE_GATE;
  options.graph_node_replays = 0;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "graph_node_replays: 0");
  options.graph_node_replays = 1;
  options.ring_time_ms = INT64_MAX;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "ring_time_ms: 9223372036854775807");
  options.ring_time_ms = 0;
  options.dump_signal = -1;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "dump_signal: -1");
  options.dump_signal = 0;
  options.metadata_count = 1;
  FAILS(rf_session_start(&options, &session), RF_STATUS_INVALID_ARGUMENT, "metadata is null");
  options.metadata_count = 0;
  options.reserved[1] = true;
  FAILS(rf_session_start(&options, &session), RF_STATUS_UNSUPPORTED, "`reserved`");
  CHECK(session == NULL);
}

static void mistakes_with_nulls(void) {
  FAILS(rf_session_step(NULL, 0), RF_STATUS_INVALID_ARGUMENT, "rf_session_step: session is null");
  FAILS(rf_session_flush(NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_flush");
  FAILS(rf_session_dump(NULL, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_dump");
  FAILS(rf_session_stop(NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_stop");
  FAILS(rf_session_release_cupti(NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_release_cupti");
  FAILS(rf_session_device(NULL, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "rf_session_device");
  rf_summary* summary;
  rf_health* health;
  FAILS(rf_session_summary(NULL, &summary), RF_STATUS_INVALID_ARGUMENT, "session is null");
  FAILS(rf_session_health(NULL, &health), RF_STATUS_INVALID_ARGUMENT, "session is null");
  CHECK(summary == NULL && health == NULL);
  CHECK(rf_session_step_number(NULL) == 0 && !rf_session_running(NULL) && rf_session_output(NULL)[0] == '\0');
  CHECK(rf_summary_row_count(NULL) == 0 && rf_health_count(NULL) == 0 && !rf_health_complete(NULL));
  CHECK(rf_text_data(NULL)[0] == '\0' && rf_text_size(NULL) == 0);
  rf_capture_facts facts = {.struct_size = sizeof facts};
  FAILS(rf_capture_get_facts(NULL, &facts), RF_STATUS_INVALID_ARGUMENT, "capture is null");
  FAILS(rf_capture_health(NULL, &health), RF_STATUS_INVALID_ARGUMENT, "capture is null");
  FAILS(rf_key_averages_totals(NULL, NULL, NULL), RF_STATUS_INVALID_ARGUMENT, "averages is null");
  CHECK(rf_key_averages_count(NULL) == 0 && rf_doctor_count(NULL) == 0);
  CHECK(rf_capture_content_count(NULL) == 0 && rf_capture_metadata_count(NULL) == 0);
  CHECK(rf_capture_finding_count(NULL) == 0);
  rf_capture_free(NULL);
  rf_key_averages_free(NULL);
  rf_doctor_free(NULL);
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
  CHECK(rf_range_start("no listener", 0) == 0);
}

int main(int argc, char** argv) {
  const char* const files[] = {"c.rfcap", "c.json", "absent"};
  for (int i = 0; i < 3 && argc > 1; ++i) snprintf(path[i], sizeof path[i], "%s/%s", argv[1], files[i]);
  remove(path[1]);
  CHECK(argc > 1);
  CHECK(rf_last_error()[0] == '\0');
  CHECK(rf_abi_version() == RF_ABI_VERSION && rf_version()[0] != '\0');
  CHECK(strcmp(rf_status_name(RF_STATUS_OK), "ok") == 0 && strcmp(rf_status_name(RF_STATUS_IO), "i/o") == 0);
  CHECK(strcmp(rf_status_name((rf_status)12), "unknown status") == 0);
  recording();
  exports();
  reports();
  chosen_reports();
  views();
  captures();
  averages();
  doctor();
  mistakes_with_options();
  mistakes_with_nulls();
  mistakes_with_ranges();
  return failures != 0;
}
