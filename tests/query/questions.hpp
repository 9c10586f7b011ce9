// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rangefinder::testing {

/// What the views answer to the questions of docs/how-to/ask-a-capture.md, in their order.
inline constexpr std::string_view kAnswersOfViews[] = {
    "SELECT range, count, gpu_sum_ns FROM view_ranges ORDER BY gpu_sum_ns DESC, range LIMIT 5",
    "SELECT step, time_ns FROM view_steps ORDER BY step",
    "SELECT kernel, count, total_ns FROM view_kernels ORDER BY total_ns DESC, kernel LIMIT 5",
    "SELECT operation, count, bytes_b, total_ns FROM view_memcpy ORDER BY operation",
    "SELECT call, api, count, total_ns FROM view_api ORDER BY total_ns DESC, call, api LIMIT 5",
    "SELECT CASE part WHEN 'owned' THEN 'range' ELSE part END AS owner, gpu_ops, gpu_sum_ns FROM account "
    "WHERE part != 'total' AND gpu_ops > 0 ORDER BY owner",
    "SELECT range, gpu_ops FROM view_ranges ORDER BY gpu_ops DESC, range LIMIT 5",
    "SELECT range, gpu_self_ns FROM view_ranges WHERE gpu_self_ns > 0 ORDER BY gpu_self_ns DESC, range",
    "SELECT range, host_min_ns, host_max_ns FROM view_ranges WHERE count > 0 ORDER BY range",
    "SELECT kernel, duration_ns FROM view_kernels_instances ORDER BY duration_ns DESC, kernel LIMIT 1",
    "SELECT r.name, count(*), sum(k.duration_ns) AS total_ns FROM view_kernels_instances k JOIN ranges r "
    "ON r.id = k.range_id GROUP BY r.name ORDER BY total_ns DESC, r.name",
    "SELECT path, gpu_sum_ns FROM view_tree ORDER BY path",
    "SELECT stream, count(*), sum(duration_ns) FROM (SELECT stream, duration_ns FROM view_kernels_instances UNION ALL "
    "SELECT stream, duration_ns FROM view_memcpy_instances) GROUP BY stream ORDER BY stream",
    "SELECT kernel, max(registers) FROM view_kernels_instances WHERE registers >= 128 GROUP BY kernel ORDER BY kernel",
    "SELECT sum(bytes_b) FROM view_memcpy WHERE operation LIKE '%HtoD%' OR operation LIKE '%Host-to-Device%'",
    "SELECT range, count, gpu_sum_ns FROM view_tree WHERE path LIKE 'step/forward/%' AND "
    "path NOT LIKE 'step/forward/%/%' ORDER BY range",
    "SELECT begin_ns, gpu_ops, gpu_sum_ns FROM view_ranges_instances WHERE range = 'step' OR range LIKE '%/step' "
    "ORDER BY gpu_sum_ns DESC, begin_ns",
    "SELECT id, gpu_begin_ns, gpu_span_ns FROM view_ranges_instances WHERE gpu_ops > 0 AND (range = 'forward' OR "
    "range LIKE '%/forward') ORDER BY id",
    "SELECT call, duration_ns FROM view_api_instances ORDER BY duration_ns DESC, call LIMIT 3",
    "SELECT kernel, grid_x, grid_y, grid_z, count(*) AS launches FROM view_kernels_instances "
    "GROUP BY kernel, grid_x, grid_y, grid_z ORDER BY launches DESC, kernel, grid_x, grid_y, grid_z LIMIT 10",
};

}  // namespace rangefinder::testing
