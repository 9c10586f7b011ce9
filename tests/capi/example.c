// SPDX-License-Identifier: MIT
// Ranges and steps of a loop, figures while it runs, a report of the capture. docs/reference/c-api.md shows it.
#include <rangefinder/c/rangefinder.h>

#include <stdio.h>

static double work(int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += (double)i * i;
  return sum;
}

static int fail(void) { return fprintf(stderr, "%s\n", rf_last_error()), 1; }

int main(int argc, char** argv) {
  rf_session_options options;
  rf_session_options_init(&options, sizeof options);
  options.output = argc > 1 ? argv[1] : "example.rfcap";
  rf_session* session;
  if (rf_session_start(&options, &session) != RF_STATUS_OK) return fail();  // ranges work without one, too

  const rf_name forward = rf_name_intern("forward");
  for (int step = 0; step < 3; ++step) {
    rf_range_push_text("step");
    rf_range_push(forward);
    const double loss = work(1000);
    rf_range_pop();
    rf_counter("loss", rf_double(loss));
    rf_range_pop();
    rf_session_step(session, 32);
  }

  rf_summary* summary;
  if (rf_session_summary(session, &summary) != RF_STATUS_OK) return fail();
  rf_summary_row row = {.struct_size = sizeof row};
  if (rf_summary_find(summary, "step/forward", &row) != RF_STATUS_OK) return fail();
  printf("%s: %llu times, %lld ns\n", row.path, (unsigned long long)row.count, (long long)row.host_ns);
  rf_summary_free(summary);
  if (rf_session_stop(session) != RF_STATUS_OK) return fail();

  rf_text* report;
  if (rf_report(rf_session_output(session), NULL, &report) != RF_STATUS_OK) return fail();
  fputs(rf_text_data(report), stdout);
  rf_text_free(report);
  rf_session_free(session);
  return 0;
}
