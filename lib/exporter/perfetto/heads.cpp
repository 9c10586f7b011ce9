// SPDX-License-Identifier: MIT
#include "exporter/perfetto/heads.hpp"

#include "exporter/chrome/clean_json.hpp"
#include "exporter/perfetto/packets.hpp"

#include <charconv>
#include <vector>

namespace rangefinder::perfetto {
namespace {

constexpr std::size_t kMaxKnown = std::size_t{1} << 18;
constexpr std::size_t kPhaseAt = 7;  // {"ph":"X"

bool is_arrow(std::string_view head) noexcept {
  return head.size() > kPhaseAt && (head[kPhaseAt] == 's' || head[kPhaseAt] == 'f');
}

std::uint64_t number_of(const std::string& text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Ids of other tools may be words.
  return error == std::errc() && end == text.data() + text.size() ? value : std::hash<std::string>{}(text);
}

std::int32_t type_of(char phase) noexcept {
  if (phase == 'X') return track_event::kSliceBegin;
  return phase == 'i' ? track_event::kInstant : 0;
}

void encode_start(Head& head) noexcept {
  char* at = head.start_bytes.data();
  if (const std::int32_t type = type_of(head.phase); type != 0)
    at = put_number(at, track_event::kType, static_cast<std::uint64_t>(type));
  // Ids count from 1; a pool's texts count from 0, the empty one.
  at = put_number(at, track_event::kNameIid, std::uint64_t{head.name} + 1);
  if (head.category != 0) at = put_number(at, track_event::kCategoryIids, head.category);
  head.start_size = static_cast<std::uint8_t>(at - head.start_bytes.data());
}

}  // namespace

bool is_launch_arrow(std::string_view head) noexcept { return is_arrow(head) && head.ends_with("\"name\":\"ac2g\""); }

Head Heads::read(std::string_view head, std::uint64_t& flow_id) {
  Head out;
  const std::string object = std::string(head) + "}";
  std::vector<chrome::RawMember> members;
  if (!chrome::split_object(object, members)) return out;
  std::string category;
  for (const chrome::RawMember& member : members) {
    if (member.key == "ph") {
      const std::string phase = chrome::text_of(member.value);
      out.phase = phase.empty() ? '\0' : phase.front();
    } else if (member.key == "name") {
      out.name = names_.intern(chrome::text_of(member.value));
    } else if (member.key == "cat") {
      category = chrome::text_of(member.value);
    } else if (member.key == "id") {
      flow_id = number_of(chrome::text_of(member.value));
    }
  }
  // Most slices are ranges of the program: what has no category is one.
  if (category != "user_annotation") out.category = categories_.intern(category);
  out.is_kernel = category == "kernel";
  out.is_activity = out.is_kernel || category == "gpu_memcpy" || category == "gpu_memset";
  out.is_call = category == "cuda_runtime" || category == "cuda_driver";
  encode_start(out);
  return out;
}

Heads::Found Heads::of(std::string_view head) {
  Recent& recent = recent_[(reinterpret_cast<std::uintptr_t>(head.data()) >> 4) % recent_.size()];
  if (recent.at == head.data() && recent.text == head) return {recent.head, 0};
  if (is_arrow(head)) return arrow(head);
  auto found = known_.find(head);
  if (found == known_.end()) {
    std::uint64_t flow_id = 0;
    const Head made = read(head, flow_id);
    if (known_.size() >= kMaxKnown) return {&rare_.emplace_back(made), flow_id};
    found = known_.emplace(std::string(head), made).first;
  }
  recent = {head.data(), found->first, &found->second};
  return {&found->second, 0};
}

/// `{"ph":"s","id":7,"cat":"ac2g","name":"ac2g"`: arrows differ by their number. One that is known by what is behind
/// its number is not read again.
Heads::Found Heads::arrow(std::string_view head) {
  constexpr std::string_view kBegin = R"({"ph":"s")", kId = R"(,"id":)";
  std::uint64_t flow_id = 0;
  Known* known = nullptr;
  std::string_view rest;
  if (head.substr(kBegin.size()).starts_with(kId)) {
    const char* const number = head.data() + kBegin.size() + kId.size();
    const auto [end, error] = std::from_chars(number, head.data() + head.size(), flow_id);
    rest = {end, static_cast<std::size_t>(head.data() + head.size() - end)};
    if (error == std::errc() && rest.starts_with(",\"")) known = &arrows_[head[kPhaseAt] == 's' ? 0 : 1];
  }
  if (known != nullptr)
    if (const auto found = known->find(rest); found != known->end()) return {&found->second, flow_id};
  const Head made = read(head, flow_id);
  if (known == nullptr || known->size() >= kMaxKnown) return {&rare_.emplace_back(made), flow_id};
  return {&known->emplace(std::string(rest), made).first->second, flow_id};
}

}  // namespace rangefinder::perfetto
