// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_sites.hpp"

#include "format/node_note.hpp"

#include <rangefinder/types.hpp>

#include <algorithm>
#include <span>

namespace rangefinder::chrome {
namespace {

template <typename Use>
class NodeRows final : public capture::CaptureVisitor {
 public:
  explicit NodeRows(Use use) : use_(use) {}
  void on_graph_nodes(std::span<const format::GraphNodeRow> rows) override {
    for (const format::GraphNodeRow& row : rows) use_(row);
  }

 private:
  Use use_;
};

}  // namespace

CaptureSites::CaptureSites(capture::CaptureReader& reader) : clock_error_ns_(reader.clock().error_bound_ns()) {
  NodeRows take([&](const format::GraphNodeRow& row) {
    const std::uint64_t key = format::maker_key(row.correlation, row.note);
    nodes_[row.node].push_back({reader.monotonic_of_realtime(row.time_ns), key});
    if (key != 0) sites_.try_emplace(key, Site{0, kNoTime, {}});
  });
  for (const capture::ChunkEntry& entry : reader.chunks())
    if (static_cast<format::ChunkKind>(entry.header.kind) == format::ChunkKind::kGraphNodes)
      reader.visit_one(entry, take);
  for (auto& [node, made] : nodes_)
    std::stable_sort(made.begin(), made.end(), [](const Made& a, const Made& b) { return a.time_ns < b.time_ns; });
}

void CaptureSites::add_launch(std::uint64_t key, Site site) {
  const auto found = sites_.find(key);
  if (found == sites_.end()) return;
  if (!site.ranges.empty()) {
    auto kept = ranges_.find(site.ranges);
    if (kept == ranges_.end()) kept = ranges_.emplace(site.ranges).first;
    site.ranges = *kept;  // activities that wait to be written point to it
  }
  found->second = site;
}

const CaptureSites::Site* CaptureSites::find(std::uint64_t node, std::int64_t time_ns) const noexcept {
  const auto known = nodes_.find(node);
  if (node == 0 || known == nodes_.end()) return nullptr;
  const std::vector<Made>& made = known->second;
  const auto after = std::upper_bound(made.begin(), made.end(), time_ns,
                                      [](std::int64_t time, const Made& one) { return time < one.time_ns; });
  // What it became later it was not yet.
  if (after == made.begin() && made.front().time_ns - time_ns > clock_error_ns_) return nullptr;
  const Made& last = after != made.begin() ? *(after - 1) : made.front();
  const auto site = sites_.find(last.key);
  return site != sites_.end() && site->second.time_ns != kNoTime ? &site->second : nullptr;
}

}  // namespace rangefinder::chrome
