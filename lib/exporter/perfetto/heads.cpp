// SPDX-License-Identifier: MIT
#include "exporter/perfetto/heads.hpp"

#include "exporter/chrome/clean_json.hpp"

#include <charconv>
#include <vector>

namespace rangefinder::perfetto {
namespace {

// Names may be made up by the program (a number in each): those beyond are read again each time.
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

}  // namespace

bool is_launch_arrow(std::string_view head) noexcept { return is_arrow(head) && head.ends_with("\"name\":\"ac2g\""); }

Head Heads::read(std::string_view head) {
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
      out.flow_id = number_of(chrome::text_of(member.value));
    }
  }
  // Most slices are ranges of the program: what has no category is one.
  if (category != "user_annotation") out.category = categories_.intern(category);
  out.is_kernel = category == "kernel";
  out.is_activity = out.is_kernel || category == "gpu_memcpy" || category == "gpu_memset";
  out.is_call = category == "cuda_runtime" || category == "cuda_driver";
  return out;
}

const Head& Heads::of(std::string_view head) {
  Recent& recent = recent_[(reinterpret_cast<std::uintptr_t>(head.data()) >> 4) % recent_.size()];
  if (recent.at == head.data() && recent.text == head) return *recent.head;
  if (is_arrow(head)) return last_ = read(head);
  auto found = known_.find(head);
  if (found == known_.end()) {
    if (known_.size() >= kMaxKnown) return last_ = read(head);
    found = known_.emplace(std::string(head), read(head)).first;
  }
  recent = {head.data(), found->first, &found->second};
  return found->second;
}

}  // namespace rangefinder::perfetto
