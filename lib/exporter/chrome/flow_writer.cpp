// SPDX-License-Identifier: MIT
#include "exporter/chrome/flow_writer.hpp"

#include <algorithm>

namespace rangefinder::chrome {

void FlowWriter::arrow(std::uint64_t id, const FlowEnd& from, const FlowEnd& to) {
  // A slice without length is over before anything can bind to it.
  if (from.end_ns <= from.begin_ns || to.end_ns <= to.begin_ns) return missing();
  const std::int64_t arrives = std::max(from.begin_ns, to.begin_ns);
  if (arrives >= to.end_ns) return notes_.add(ExportNotes::kFlowBackwards);
  if (id == 0) id = next_id_++;
  end('s', id, from.ids, from.begin_ns);
  end('f', id, to.ids, arrives);
}

void FlowWriter::end(char phase, std::uint64_t id, std::string_view ids, std::int64_t time_ns) {
  char head[64] = "{\"ph\":\"s\",\"id\":";
  constexpr std::size_t kPhase = 7;
  constexpr std::size_t kBegin = 15;
  head[kPhase] = phase;
  char* at = put_decimal(head + kBegin, id);
  constexpr std::string_view kRest = ",\"cat\":\"ac2g\"";
  constexpr std::string_view kName = ",\"name\":\"ac2g\"";
  at = std::copy(kRest.begin(), kRest.end(), at);
  // ,"cat":"ac2g","name":"ac2g" is 26 bytes; 15 + 20 + 26 stay below 64.
  at = std::copy(kName.begin(), kName.end(), at);
  writer_.open_point({head, static_cast<std::size_t>(at - head)}, ids, time_ns);
  if (phase == 'f') writer_.raw_member(",\"bp\":\"e\"");
  writer_.close();
}

}  // namespace rangefinder::chrome
