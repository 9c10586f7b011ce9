// SPDX-License-Identifier: MIT
#include "exporter/chrome/foreign_events.hpp"

#include "base/scaled_decimal.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::chrome {
namespace {

// How the ids of a track end.
constexpr std::string_view kTimeKey = ",\"ts\":";

bool nanoseconds(std::string_view raw, std::int64_t& out) {
  const base::ScaledDecimal decimal = base::scaled_decimal(text_of(raw), 3);
  if (decimal.valid) out = decimal.value;
  return decimal.valid;
}

bool integer(std::string_view raw, std::int64_t& out) {
  const base::ScaledDecimal decimal = base::scaled_decimal(text_of(raw), 0);
  const bool valid = decimal.valid && !decimal.rounded;
  if (valid) out = decimal.value;
  return valid;
}

}  // namespace

const RawMember* ForeignEvents::Event::find(std::string_view key) const noexcept {
  const auto found = std::find_if(members.begin(), members.end(), [&](const RawMember& m) { return m.key == key; });
  return found == members.end() ? nullptr : &*found;
}

bool ForeignEvents::Event::ids(std::int64_t& pid, std::int64_t& tid) const {
  const RawMember* const process = find("pid");
  const RawMember* const thread = find("tid");
  return process != nullptr && thread != nullptr && integer(process->value, pid) && integer(thread->value, tid);
}

ForeignEvents::ForeignEvents(TimelineExport& shared) : shared_(shared), wanted_(shared.timeline.foreign.size(), false) {
  for (std::uint32_t row = 0; row < wanted_.size(); ++row) look_at(row);
  pair_flows();
}

bool ForeignEvents::parse(std::uint32_t row, Event& event) const {
  if (!split_object(shared_.timeline.foreign[row].json, event.members)) return false;
  const RawMember* const phase = event.find("ph");
  event.phase = phase != nullptr ? text_of(phase->value) : std::string();
  const RawMember* const time = event.find("ts");
  event.timed = time != nullptr && nanoseconds(time->value, event.time_ns);
  return true;
}

void ForeignEvents::look_at(std::uint32_t row) {
  Event event;
  if (!parse(row, event)) return shared_.notes.add(ExportNotes::kForeignText);
  const bool instant = event.phase == "i" || event.phase == "I" || event.phase == "R";
  const bool half = event.phase == "s" || event.phase == "f";
  if (!event.timed || (!instant && !half && event.phase != "X")) return shared_.notes.add(ExportNotes::kForeignPhase);
  if (event.phase == "X") return take_slice(event);
  if (!shared_.in_window(event.time_ns, event.time_ns)) return;
  if (instant) {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    wanted_[row] = event.ids(pid, tid);
  } else if (shared_.options.flows) {
    // What makes two halves one for viewers.
    std::string key;
    for (const std::string_view name : {"id", "cat", "name"}) {
      const RawMember* const member = event.find(name);
      key.append(member != nullptr ? member->value : std::string_view{}).push_back('\n');
    }
    halves_.push_back({std::move(key), event.time_ns, row, event.phase == "s", event.find("args") != nullptr});
  }
}

void ForeignEvents::pair_flows() {
  // A start of the same time as its end comes first.
  std::sort(halves_.begin(), halves_.end(), [](const FlowHalf& a, const FlowHalf& b) {
    return std::tuple(std::string_view(a.key), a.time_ns, !a.start, a.row) <
           std::tuple(std::string_view(b.key), b.time_ns, !b.start, b.row);
  });
  for (std::size_t i = 0; i < halves_.size(); ++i) {
    const bool pair =
        halves_[i].start && i + 1 < halves_.size() && !halves_[i + 1].start && halves_[i].key == halves_[i + 1].key;
    if (!pair) {
      shared_.notes.add(ExportNotes::kForeignHalf);
      continue;
    }
    const FlowHalf &start = halves_[i], &end = halves_[i + 1];
    wanted_[start.row] = wanted_[end.row] = true;
    if (start.arguments && end.arguments) starts_.emplace(end.row, start.row);
    ++i;
  }
  halves_.clear();
}

std::optional<TrackId> ForeignEvents::known_track(const Event& event) const {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  if (!event.ids(pid, tid)) return std::nullopt;
  return shared_.layout.table().find(pid, tid);
}

TrackId ForeignEvents::track_of(std::int64_t pid, std::int64_t tid) {
  TrackTable& table = shared_.layout.table();
  if (const auto known = table.find(pid, tid)) return *known;
  const auto known_group = table.find_group(pid);
  const GroupId group = known_group ? *known_group : table.add_group(pid, "", "", pid);
  return table.add_track(group, tid, "", tid);
}

void ForeignEvents::take_slice(const Event& event) {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  if (!event.ids(pid, tid)) return;
  ForeignSlice slice;
  const RawMember* const duration = event.find("dur");
  std::int64_t length = 0;
  if (duration == nullptr || !nanoseconds(duration->value, length) ||
      __builtin_add_overflow(event.time_ns, std::max<std::int64_t>(length, 0), &slice.end_ns))
    return shared_.notes.add(ExportNotes::kForeignPhase);
  slice.begin_ns = event.time_ns;
  const RawMember* const category = event.find("cat");
  const RawMember* const name = event.find("name");
  const std::string name_text = name != nullptr ? text_of(name->value) : std::string();
  append_head(slice.head, 'X', category != nullptr ? text_of(category->value) : "other", name_text);
  if (const RawMember* const arguments = event.find("args");
      arguments != nullptr && arguments->value.starts_with('{')) {
    if (!append_clean_members(slice.arguments, arguments->value.substr(1, arguments->value.size() - 2)))
      shared_.notes.add(ExportNotes::kArguments);
  }
  slice.track = track_of(pid, tid);
  slices_.push_back(std::move(slice));
}

void ForeignEvents::write() {
  for (std::uint32_t row = 0; row < wanted_.size(); ++row) {
    Event event;
    if (!wanted_[row] || !parse(row, event)) continue;
    if (const auto found = starts_.find(row); found != starts_.end()) tell_arguments_apart(event, found->second);
    write_event(event);
  }
}

/// Viewers put the arguments of both halves into one list, and warn of a key that is there twice. The end leaves out
/// what its start says too; what the start says otherwise becomes "key (end)".
void ForeignEvents::tell_arguments_apart(Event& end, std::uint32_t start_row) const {
  Event start;
  std::vector<RawMember> first, second;
  if (!parse(start_row, start) || !split_object(start.find("args")->value, first)) return;
  const auto own = std::find_if(end.members.begin(), end.members.end(), [](const auto& m) { return m.key == "args"; });
  if (!split_object(own->value, second)) return;
  for (const RawMember& member : second) {
    const auto same = std::find_if(first.begin(), first.end(), [&](const auto& m) { return m.key == member.key; });
    if (same != first.end() && same->value == member.value) continue;
    end.arguments += end.arguments.empty() ? "{" : ",";
    append_quoted(end.arguments, same != first.end() ? member.key + " (end)" : member.key);
    end.arguments.append(":").append(member.value);
  }
  if (end.arguments.empty()) {
    end.members.erase(own);
  } else {
    end.arguments += '}';
    own->value = end.arguments;
  }
}

void ForeignEvents::write_event(const Event& event) {
  const bool instant = event.phase != "s" && event.phase != "f";
  std::string text = "{\"ph\":\"" + (instant ? std::string("i") : event.phase) + "\",\"name\":";
  const RawMember* const name = event.find("name");
  append_quoted(text, name != nullptr ? text_of(name->value) : std::string());
  text += ",\"ts\":";
  char micros[kMaxMicrosBytes];
  text.append(micros, put_micros(micros, shared_.writer.base().since(event.time_ns)));
  std::string_view ids;
  if (const auto track = known_track(event)) ids = shared_.layout.table().ids(*track);
  text.append(ids.substr(0, ids.size() - std::min(ids.size(), kTimeKey.size())));
  for (const RawMember& member : event.members) {
    if (member.key == "ph" || member.key == "name" || member.key == "ts") continue;
    if (!ids.empty() && (member.key == "pid" || member.key == "tid")) continue;
    // A scope that viewers do not know makes them refuse the event.
    const std::string scope = member.key == "s" ? text_of(member.value) : std::string();
    if (instant && member.key == "s" && scope != "g" && scope != "p" && scope != "t") continue;
    std::string value;
    if (!append_clean_value(value, member.value)) {
      shared_.notes.add(ExportNotes::kArguments);
      continue;
    }
    text += ',';
    append_quoted(text, member.key);
    text += ':';
    text += value;
  }
  text += '}';
  shared_.writer.raw_event(text);
}

}  // namespace rangefinder::chrome
