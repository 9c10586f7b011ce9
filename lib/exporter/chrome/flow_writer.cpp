// SPDX-License-Identifier: MIT
#include "exporter/chrome/flow_writer.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

constexpr std::string_view kLaunched = ",\"cat\":\"ac2g\",\"name\":\"ac2g\"";
constexpr std::string_view kForwardBackward = ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"";

}  // namespace

void FlowWriter::arrow(std::uint64_t id, const FlowEnd& from, const FlowEnd& to) {
  // A slice without length is over before anything can bind to it.
  if (from.end_ns <= from.begin_ns || to.end_ns <= to.begin_ns) return missing();
  const std::int64_t arrives = std::max(from.begin_ns, to.begin_ns);
  if (arrives >= to.end_ns) return notes_.add(ExportNotes::kFlowBackwards);
  if (id == 0) id = next_id_++;
  end('s', kLaunched, id, from, from.begin_ns);
  end('f', kLaunched, id, to, arrives);
}

void FlowWriter::forward_backward(const FlowEnd& from, const FlowEnd& to) {
  if (from.end_ns <= from.begin_ns || to.end_ns <= to.begin_ns) return missing();
  if (from.begin_ns > to.begin_ns) return notes_.add(ExportNotes::kFlowBackwards);
  const std::uint64_t id = next_forward_id_++;
  end('s', kForwardBackward, id, from, from.begin_ns);
  end('f', kForwardBackward, id, to, to.begin_ns);
}

void FlowWriter::end(char phase, std::string_view kind, std::uint64_t id, const FlowEnd& slice, std::int64_t time_ns) {
  char head[72] = "{\"ph\":\"s\",\"id\":";
  constexpr std::size_t kPhase = 7;
  constexpr std::size_t kBegin = 15;
  head[kPhase] = phase;
  char* at = put_decimal(head + kBegin, id);
  at = std::copy(kind.begin(), kind.end(), at);
  // The longer kind is 31 bytes; 15 + 20 + 31 stay below 72.
  // A target's readers take what has one time in the order of the file, and the slice may be written behind its arrow.
  if (writer_.has_target() && time_ns == slice.begin_ns && time_ns + 1 < slice.end_ns) ++time_ns;
  writer_.open_point({head, static_cast<std::size_t>(at - head)}, slice.ids, time_ns);
  if (phase == 'f') writer_.raw_member(",\"bp\":\"e\"");
  writer_.close();
}

}  // namespace rangefinder::chrome
