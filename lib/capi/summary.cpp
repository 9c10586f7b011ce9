// SPDX-License-Identifier: MIT
#include "capi/session.hpp"
#include "capi/structs.hpp"

#include <rangefinder/session.hpp>

#include <string>

struct rf_summary {
  rangefinder::Summary summary;
};

namespace capi = rangefinder::capi;

namespace {

rf_status fill_row(std::string_view function, const rangefinder::SummaryRow& found, rf_summary_row* row) {
  rf_summary_row filled{};
  filled.path = found.path.c_str();
  filled.name = found.name.c_str();
  filled.count = found.count;
  filled.host_ns = found.host_ns;
  filled.gpu_ops = found.gpu_ops;
  filled.gpu_sum_ns = found.gpu_sum_ns;
  filled.gpu_busy_ns = found.gpu_busy_ns;
  filled.gpu_span_ns = found.gpu_span_ns;
  filled.gpu_forward_ns = found.gpu_forward_ns;
  filled.gpu_backward_ns = found.gpu_backward_ns;
  filled.gpu_recompute_ns = found.gpu_recompute_ns;
  filled.gpu_accumulation_ns = found.gpu_accumulation_ns;
  filled.depth = found.depth;
  return capi::write_struct(function, row, row->struct_size, RANGEFINDER_SIZE_UP_TO(rf_summary_row, depth), filled);
}

}  // namespace

rf_status rf_session_summary(rf_session* session, rf_summary** summary) noexcept {
  if (summary == nullptr) return capi::null_argument(__func__, "summary");
  *summary = nullptr;
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return capi::guarded(__func__, [&] {
    *summary = new rf_summary{session->session.summary()};
    return RF_STATUS_OK;
  });
}

rf_status rf_summary_get_totals(const rf_summary* summary, rf_summary_totals* totals) noexcept {
  if (summary == nullptr) return capi::null_argument(__func__, "summary");
  if (totals == nullptr) return capi::null_argument(__func__, "totals");
  return capi::guarded(__func__, [&, function = __func__] {
    const rangefinder::Summary& from = summary->summary;
    rf_summary_totals filled{};
    filled.steps = from.steps;
    filled.step_ns = from.step_ns;
    filled.step_p50_ns = from.step_p50_ns;
    filled.step_p95_ns = from.step_p95_ns;
    filled.step_p99_ns = from.step_p99_ns;
    filled.items = from.items;
    filled.items_ns = from.items_ns;
    filled.gpu_total_ns = from.gpu_total_ns;
    filled.gpu_owned_ns = from.gpu_owned_ns;
    filled.pending_launches = from.pending_launches;
    return capi::write_struct(function, totals, totals->struct_size,
                              RANGEFINDER_SIZE_UP_TO(rf_summary_totals, pending_launches), filled);
  });
}

rf_status rf_summary_row_at(const rf_summary* summary, size_t index, rf_summary_row* row) noexcept {
  if (summary == nullptr) return capi::null_argument(__func__, "summary");
  if (row == nullptr) return capi::null_argument(__func__, "row");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& rows = summary->summary.rows;
    if (index < rows.size()) return fill_row(function, rows[index], row);
    return capi::fail(RF_STATUS_NOT_FOUND,
                      {function, ": no row ", std::to_string(index), " of ", std::to_string(rows.size())});
  });
}

rf_status rf_summary_find(const rf_summary* summary, const char* path, rf_summary_row* row) noexcept {
  if (summary == nullptr) return capi::null_argument(__func__, "summary");
  if (path == nullptr) return capi::null_argument(__func__, "path");
  if (row == nullptr) return capi::null_argument(__func__, "row");
  return capi::guarded(__func__, [&, function = __func__] {
    const rangefinder::SummaryRow* const found = summary->summary.find(path);
    if (found != nullptr) return fill_row(function, *found, row);
    return capi::fail(RF_STATUS_NOT_FOUND, {function, ": no finished range has the path '", path,
                                            "'; paths are names with slashes between them, as in rows"});
  });
}

size_t rf_summary_row_count(const rf_summary* summary) noexcept {
  return summary != nullptr ? summary->summary.rows.size() : 0;
}
void rf_summary_free(rf_summary* summary) noexcept { delete summary; }
