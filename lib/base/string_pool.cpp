// SPDX-License-Identifier: MIT
#include "base/string_pool.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <cstring>

namespace rangefinder::base {
namespace {
constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kFirstSlots = 256;

std::uint64_t hash_of(std::string_view text) noexcept { return checksum(as_bytes(text)); }
}  // namespace

StringPool::StringPool() : slots_(kFirstSlots, 0) { intern({}); }

std::uint32_t* StringPool::slot_of(std::string_view text, std::uint64_t hash) noexcept {
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const std::uint32_t entry = slots_[at];
    if (entry == 0 || (hashes_[entry - 1] == tag && texts_[entry - 1] == text)) return &slots_[at];
  }
}

std::uint32_t StringPool::intern(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  std::uint32_t* slot = slot_of(text, hash);
  if (*slot != 0) return *slot - 1;
  if ((texts_.size() + 1) * 2 > slots_.size()) {
    grow();
    slot = slot_of(text, hash);
  }
  texts_.push_back(store(text));
  hashes_.push_back(static_cast<std::uint32_t>(hash >> 32));
  *slot = static_cast<std::uint32_t>(texts_.size());
  return *slot - 1;
}

std::uint32_t StringPool::find(std::string_view text) const noexcept {
  const std::uint32_t entry = *const_cast<StringPool*>(this)->slot_of(text, hash_of(text));
  return entry == 0 ? kAbsent : entry - 1;
}

void StringPool::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < texts_.size(); ++id) {
    std::size_t at = hash_of(texts_[id]) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = id + 1;
  }
}

std::string_view StringPool::store(std::string_view text) {
  bytes_ += text.size();
  if (text.empty()) return {};
  if (text.size() > block_left_) {
    const std::size_t size = std::max(kBlockBytes, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    block_at_ = blocks_.back().get();
    block_left_ = size;
  }
  char* const at = block_at_;
  std::memcpy(at, text.data(), text.size());
  block_at_ += text.size();
  block_left_ -= text.size();
  return {at, text.size()};
}

}  // namespace rangefinder::base
