// SPDX-License-Identifier: MIT
#include "base/string_pool.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>

namespace rangefinder {

struct Timeline::Strings {
  base::StringPool pool;
};

Timeline::Timeline() : strings_(std::make_unique<Strings>()) {}
Timeline::~Timeline() = default;
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;

std::string_view Timeline::text(StringId id) const noexcept {
  return strings_->pool.text(static_cast<std::uint32_t>(id));
}

StringId Timeline::intern(std::string_view text) { return static_cast<StringId>(strings_->pool.intern(text)); }

bool Timeline::find(std::string_view text, StringId& id) const noexcept {
  const std::uint32_t found = strings_->pool.find(text);
  if (found == base::StringPool::kAbsent) return false;
  id = static_cast<StringId>(found);
  return true;
}

std::uint32_t Timeline::string_count() const noexcept { return strings_->pool.size(); }

std::uint64_t Timeline::text_bytes() const noexcept {
  constexpr std::uint64_t kPerText = 32;  // its view, hash and place in the table of hashes
  return strings_->pool.bytes() + strings_->pool.size() * kPerText;
}

void ArgumentStore::add(std::int64_t source_row, std::string_view members) {
  rows_.push_back({source_row, text_.size(), members.size()});
  text_.append(members);
}

std::string_view ArgumentStore::find(std::int64_t source_row) const noexcept {
  const auto row = std::lower_bound(rows_.begin(), rows_.end(), source_row,
                                    [](const Row& r, std::int64_t wanted) { return r.source_row < wanted; });
  if (row == rows_.end() || row->source_row != source_row) return {};
  return std::string_view(text_).substr(row->offset, row->size);
}

void ArgumentStore::sort() {
  const auto by_row = [](const Row& a, const Row& b) { return a.source_row < b.source_row; };
  if (!std::is_sorted(rows_.begin(), rows_.end(), by_row)) std::stable_sort(rows_.begin(), rows_.end(), by_row);
}

}  // namespace rangefinder
