// SPDX-License-Identifier: MIT
#include "analysis/nsight/labels.hpp"

#include "timeline/nsight_names.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace rangefinder::analysis::nsight {
namespace {

// A name of megabytes would be repeated in front of every other.
constexpr std::size_t kLongestPrefix = 1024;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Compares as the texts do, as far as it goes.
std::uint64_t first_bytes(std::string_view text) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < sizeof bytes; ++at)
    bytes = bytes << 8 | (at < text.size() ? static_cast<unsigned char>(text[at]) : 0u);
  return bytes;
}

std::string_view without_version(std::string_view name) noexcept {
  constexpr std::size_t kSuffix = 6;  // _v7000
  if (name.size() <= kSuffix) return name;
  const std::string_view suffix = name.substr(name.size() - kSuffix);
  const bool versioned = suffix.starts_with("_v") && std::all_of(suffix.begin() + 2, suffix.end(), is_digit);
  return versioned ? name.substr(0, name.size() - kSuffix) : name;
}

}  // namespace

std::string_view base_name(std::string_view demangled) noexcept {
  // The name ends where its arguments begin; scopes before it may hold brackets of their own.
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t at = 0; at < demangled.size(); ++at) {
    const char c = demangled[at];
    if (c == '<' || c == '(') {
      // What is opened right after a scope or a space is a scope itself: (anonymous namespace)::, <unnamed>::
      const bool scope = at == start;
      if (depth == 0 && !scope) {
        // Template arguments may belong to a scope, too: a<int>::b. Then the name goes on after them.
        int inner = 0;
        std::size_t close = at;
        for (; close < demangled.size(); ++close) {
          inner += demangled[close] == '<' || demangled[close] == '(' ? 1 : 0;
          inner -= demangled[close] == '>' || demangled[close] == ')' ? 1 : 0;
          if (inner == 0) break;
        }
        if (!demangled.substr(std::min(close + 1, demangled.size())).starts_with("::"))
          return demangled.substr(start, at - start);
        at = close;
        continue;
      }
      ++depth;
    } else if (c == '>' || c == ')') {
      depth -= depth > 0 ? 1 : 0;
    } else if (depth == 0 && (c == ' ' || c == ':')) {
      start = at + 1;
    }
  }
  return demangled.substr(start);
}

std::vector<std::uint32_t> Labels::ranks(const std::vector<Label>& labels) const {
  struct Keyed {
    std::uint64_t key;  // the first bytes that not all texts share
    Label label;
  };
  std::vector<bool> known(size());
  std::vector<Keyed> order;
  for (const Label label : labels) {
    if (!known[label]) order.push_back({0, label});
    known[label] = true;
  }
  std::string_view shared = order.empty() ? std::string_view() : text(order.front().label);
  for (const Keyed& keyed : order) {
    const std::string_view other = text(keyed.label);
    const auto end = std::mismatch(shared.begin(), shared.end(), other.begin(), other.end()).first;
    shared = shared.substr(0, static_cast<std::size_t>(end - shared.begin()));
  }
  for (Keyed& keyed : order) keyed.key = first_bytes(text(keyed.label).substr(shared.size()));
  std::sort(order.begin(), order.end(), [&](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : text(a.label) < text(b.label);
  });
  std::vector<std::uint32_t> rank_of(size(), kNone);
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) rank_of[order[rank].label] = rank;
  return rank_of;
}

Labels::Labels(const Timeline& timeline) : timeline_(timeline) {
  for (const auto& [key, value] : timeline.metadata)
    default_domain_announced_ |= key == "nsight_default_domain_announced";
  if (timeline.format != InputFormat::kNsight) return;
  // The importer keeps the whole text of a range whose name is only a part of it.
  for (const Attachment& value : timeline.attachments) {
    if (value.target != Attachment::Target::kRange || value.type != Attachment::Type::kText) continue;
    if (texts_.empty()) texts_.assign(timeline.ranges.name.begin(), timeline.ranges.name.end());
    texts_[value.row] = static_cast<StringId>(value.bits);
  }
}

Label Labels::of_text(std::string_view text) {
  StringId name{};
  return timeline_.find(text, name) ? of_name(name) : of_made(made_.intern(text));
}

Label Labels::first_of(Label label) const noexcept {
  if (!is_name(label)) return label;
  const std::uint32_t made = made_.find(text(label));
  return made != base::StringPool::kAbsent && made != 0 ? of_made(made) : label;
}

template <typename Make>
Label Labels::once(projection::FlatMap& known, std::uint64_t key, Make make) {
  if (const std::uint32_t found = known.find(key); found != projection::FlatMap::kAbsent) return found;
  const Label label = of_text(make());
  known.set(key, label);
  return label;
}

Label Labels::range(RangeIndex range) {
  const StringId name = text_of(range);
  const StringId domain = timeline_.ranges.domain[range];
  if (domain == StringId::kEmpty && !default_domain_announced_) return of_name(name);
  const std::uint64_t key = static_cast<std::uint64_t>(domain) << 32 | static_cast<std::uint32_t>(name);
  return once(ranges_, key, [&] {
    return std::string(timeline_.text(domain).substr(0, kLongestPrefix)).append(":").append(timeline_.text(name));
  });
}

Label Labels::kernel(ActivityIndex activity, KernelName form) {
  const ActivityTable& activities = timeline_.activities;
  const StringId name = activities.name[activity];
  const std::uint32_t row = activities.detail[activity];
  const KernelDetail detail = row < timeline_.kernel_details.size() ? timeline_.kernel_details[row] : KernelDetail{};
  if (form == KernelName::kMangled) return of_name(detail.mangled != StringId::kEmpty ? detail.mangled : name);
  const StringId full = detail.demangled != StringId::kEmpty ? detail.demangled : name;
  if (form == KernelName::kFull) return of_name(full);
  if (detail.base != StringId::kEmpty) return of_name(detail.base);
  return once(shortened_, static_cast<std::uint32_t>(full), [&] { return base_name(timeline_.text(full)); });
}

Label Labels::memory_operation(ActivityIndex activity) {
  const ActivityTable& activities = timeline_.activities;
  if (activities.kind[activity] == ActivityKind::kMemset) return of_text(timeline::nsight::kMemsetOperation);
  const std::uint32_t row = activities.detail[activity];
  if (row >= timeline_.copy_details.size()) return of_name(activities.name[activity]);
  const std::uint32_t kind = timeline_.copy_details[row].copy_kind;
  return once(copies_, kind, [&] { return timeline::nsight::copy_operation(kind); });
}

Label Labels::call(CallIndex call) {
  const StringId name = timeline_.calls.name[call];
  return once(calls_, static_cast<std::uint32_t>(name), [&] { return without_version(timeline_.text(name)); });
}

Label Labels::inside(RangeIndex range, Label kernel) {
  const StringId name = text_of(range);
  const std::uint64_t key = static_cast<std::uint64_t>(name) << 32 | kernel;
  return once(nested_, key, [&] {
    return std::string(timeline_.text(name).substr(0, kLongestPrefix)).append("/").append(text(kernel));
  });
}

}  // namespace rangefinder::analysis::nsight
