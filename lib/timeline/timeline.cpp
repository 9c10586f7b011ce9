// SPDX-License-Identifier: MIT
#include "base/string_pool.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstring>

namespace rangefinder {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::uint32_t kGroupRows = 16;
constexpr std::size_t kMaxNumber = 10;

/// Seven bits a byte, the lowest first.
char* write_number(char* at, std::uint64_t number) noexcept {
  for (; number >= 128; number >>= 7) *at++ = static_cast<char>(number | 128);
  *at++ = static_cast<char>(number);
  return at;
}

std::uint64_t read_number(const char*& at) noexcept {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    number |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return number;
  }
}

}  // namespace

struct Timeline::Strings {
  base::StringPool pool;
};

Timeline::StringsPointer::StringsPointer() : owned(std::make_unique<Strings>()) {}
Timeline::StringsPointer::~StringsPointer() = default;
Timeline::StringsPointer::StringsPointer(const StringsPointer& other)
    : owned(other.owned ? std::make_unique<Strings>(*other.owned) : nullptr) {}
Timeline::StringsPointer::StringsPointer(StringsPointer&&) noexcept = default;
Timeline::StringsPointer& Timeline::StringsPointer::operator=(StringsPointer&&) noexcept = default;

Timeline::Timeline() = default;
Timeline::~Timeline() = default;
Timeline::Timeline(const Timeline&) = default;
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(const Timeline&) = default;
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

std::uint64_t Timeline::text_bytes() const noexcept { return strings_->pool.memory_bytes(); }

/// Blocks are shared up to what was written; the copy begins a block of its own.
ArgumentStore::ArgumentStore(const ArgumentStore& other)
    : blocks_(other.blocks_),
      groups_(other.groups_),
      last_row_(other.last_row_),
      late_(other.late_),
      bytes_(other.bytes_) {}

void ArgumentStore::add(std::int64_t source_row, std::string_view members) {
  if (source_row <= last_row_) {
    late_.push_back({source_row, std::string(members)});
    bytes_ += sizeof(Late) + members.size();
    return;
  }
  const std::size_t most_bytes = members.size() + 2 * kMaxNumber;
  const bool fits = !blocks_.empty() && most_bytes <= block_left_;
  if (!fits) {
    block_left_ = std::max(most_bytes, kBlock);
    // Not cleared: pages that no text reaches take no memory.
    blocks_.push_back(std::shared_ptr<char[]>(new char[block_left_]));
    block_at_ = blocks_.back().get();
  }
  char* at = block_at_;
  const char* const begin = at;
  if (!fits || groups_[groups_.size() - 1].rows == kGroupRows) groups_.push_back({source_row, begin, 0});
  Group& group = groups_[groups_.size() - 1];
  at = write_number(at, static_cast<std::uint64_t>(source_row - group.first_row));
  at = write_number(at, members.size());
  if (!members.empty()) std::memcpy(at, members.data(), members.size());
  at += members.size();
  ++group.rows;
  last_row_ = source_row;
  block_left_ -= static_cast<std::size_t>(at - begin);
  bytes_ += static_cast<std::uint64_t>(at - begin);
  block_at_ = at;
}

std::string_view ArgumentStore::find(std::int64_t source_row) const noexcept {
  const auto after = std::upper_bound(groups_.begin(), groups_.end(), source_row,
                                      [](std::int64_t wanted, const Group& group) { return wanted < group.first_row; });
  if (after != groups_.begin()) {
    const Group& group = after[-1];
    const auto wanted = static_cast<std::uint64_t>(source_row - group.first_row);
    const char* at = group.at;
    for (std::uint32_t i = 0; i < group.rows; ++i) {
      const std::uint64_t row = read_number(at);
      const auto size = static_cast<std::size_t>(read_number(at));
      if (row == wanted) return {at, size};
      if (row > wanted) break;
      at += size;
    }
  }
  const auto late = std::lower_bound(late_.begin(), late_.end(), source_row,
                                     [](const Late& row, std::int64_t wanted) { return row.source_row < wanted; });
  return late != late_.end() && late->source_row == source_row ? std::string_view(late->text) : std::string_view{};
}

void ArgumentStore::sort() {
  std::stable_sort(late_.begin(), late_.end(),
                   [](const Late& a, const Late& b) { return a.source_row < b.source_row; });
}

}  // namespace rangefinder
