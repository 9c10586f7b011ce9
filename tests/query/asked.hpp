// SPDX-License-Identifier: MIT
#pragma once

#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/query.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rangefinder::testing {

/// Two steps on thread 1 with a kernel on stream 7 and one on stream 8 each, a copy, a call that launches nothing, and
/// a kernel whose launch is not known.
inline Timeline two_asked_steps() {
  TimelineBuilder builder;
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t t = 1'000 + step * 10'000;
    builder.on_thread(1).on_stream(7).range("step", t, t + 9'000).range("forward", t + 100, t + 3'000);
    builder.launch_call("cudaLaunchKernel", t + 200, t + 250).kernel(t + 300, t + 1'300, "gemm");
    builder.on_stream(8).launch_call("cudaLaunchKernel", t + 400, t + 450).kernel(t + 1'000, t + 1'500, "relu");
    builder.launch_call("cudaMemcpyAsync", t + 5'000, t + 5'010).memcpy(t + 6'000, t + 6'100, 4'096, 1);
    builder.call("cudaStreamSynchronize", t + 7'000, t + 8'000);
    builder.step(step, t, t + 9'000, 32);
  }
  builder.without_launch(999).kernel(30'000, 30'500, "stray");
  return builder.build();
}

inline QueryDatabase database_of(Timeline timeline) {
  Result<QueryDatabase> database = QueryDatabase::of(std::move(timeline));
  REQUIRE(database.ok());
  return std::move(*database);
}

inline QueryResult ask(QueryDatabase& database, std::string_view sql, const QueryLimits& limits = {}) {
  CAPTURE(std::string(sql));
  Result<QueryResult> result = database.run(sql, limits);
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}

/// "step|2|NULL", a line for each row.
inline std::string rows_as_text(const QueryResult& result) {
  std::string out;
  for (const std::vector<QueryValue>& row : result.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += "|";
      if (const auto* integer = std::get_if<std::int64_t>(&row[i]))
        out += std::to_string(*integer);
      else if (const auto* real = std::get_if<double>(&row[i]))
        out += std::to_string(*real);
      else if (const auto* text = std::get_if<std::string>(&row[i]))
        out += *text;
      else
        out += "NULL";
    }
    out += "\n";
  }
  return out;
}

inline std::string answer_to(QueryDatabase& database, std::string_view sql) { return rows_as_text(ask(database, sql)); }

inline Error refusal_of(QueryDatabase& database, std::string_view sql, const QueryLimits& limits = {}) {
  CAPTURE(std::string(sql));
  const Result<QueryResult> result = database.run(sql, limits);
  REQUIRE_FALSE(result.ok());
  return result.error();
}

}  // namespace rangefinder::testing
