// SPDX-License-Identifier: MIT
#include "importer/nsight/string_table.hpp"

#include "importer/nsight/table_scan.hpp"

#include <algorithm>

namespace rangefinder::importer::nsight {

void StringTable::read(ImportContext& context) {
  enum { kId, kValue };
  static constexpr WantedColumn kColumns[] = {required("id"), required("value")};
  TableScan row(context, "StringIds", kColumns);
  if (!row.usable()) {
    if (context.database.table("StringIds") == nullptr)
      context.note("no table StringIds: registered names are missing");
    return;
  }
  while (row.next()) {
    const std::optional<std::int64_t> id = row.integer(kId);
    const std::optional<std::string_view> value = row.text(kValue);
    if (!id || !value) {
      row.reject(id ? "no text" : "no id");
      continue;
    }
    entries_.push_back({*id, texts_.size(), static_cast<std::uint32_t>(value->size()), kNotYet});
    texts_.append(*value);
    context.set_held_texts(entries_.capacity() * sizeof(Entry) + texts_.capacity());
    constexpr std::size_t kTextsPerLook = 4096;
    if (entries_.size() % kTextsPerLook == 0 && !context.within_bound()) return;
  }
  const auto by_id = [](const Entry& a, const Entry& b) { return a.id < b.id; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_id))
    std::stable_sort(entries_.begin(), entries_.end(), by_id);
}

StringTable::Entry* StringTable::find(std::int64_t id) noexcept {
  // Most files number their strings without a gap.
  if (!entries_.empty() && id >= entries_.front().id) {
    const std::uint64_t guess = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(entries_.front().id);
    if (guess < entries_.size() && entries_[guess].id == id) return &entries_[guess];
  }
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), id,
                                      [](const Entry& entry, std::int64_t wanted) { return entry.id < wanted; });
  return found != entries_.end() && found->id == id ? &*found : nullptr;
}

StringId StringTable::resolve(ImportContext& context, std::int64_t id) {
  if (Entry* entry = find(id)) {
    if (entry->interned == kNotYet)
      entry->interned = static_cast<std::uint32_t>(
          context.timeline.intern(std::string_view(texts_).substr(entry->offset, entry->size)));
    return static_cast<StringId>(entry->interned);
  }
  const auto [at, is_new] = missing_.try_emplace(id, StringId::kEmpty);
  if (is_new) {
    at->second = context.timeline.intern("(string " + std::to_string(id) + " missing)");
    ++context.timeline.health.lost_names;
  }
  return at->second;
}

}  // namespace rangefinder::importer::nsight
