// SPDX-License-Identifier: MIT
#include "bench/report_view.hpp"

#include <string>
#include <string_view>

namespace rangefinder::bench {

Result<Json> report_view(const Timeline& timeline, ReportOptions options) {
  options.format = ReportFormat::kJson;
  std::string text;
  const Status status = write_report(timeline, options, [&](std::string_view piece) {
    text.append(piece);
    return true;
  });
  if (!status.ok()) return status.error();
  return parse_json(text);
}

}  // namespace rangefinder::bench
