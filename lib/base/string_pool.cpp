// SPDX-License-Identifier: MIT
#include "base/string_pool.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rangefinder::base {
namespace {
constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kFirstSlots = 256;

/// Quicker than a checksum: most texts have a few words of eight bytes.
std::uint32_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = text.size();
  for (std::size_t at = 0; at < text.size(); at += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    const unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * 0x9E3779B97F4A7C15u;
    hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}
}  // namespace

StringPool::StringPool() : slots_(kFirstSlots) { intern({}); }

/// The same texts in the same order have the same ids.
StringPool::StringPool(const StringPool& other) : StringPool() {
  for (const std::string_view text : other.texts_) intern(text);
}

const StringPool::Slot* StringPool::slot_of(std::string_view text, std::uint32_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.entry == 0 || (slot.hash == hash && texts_[slot.entry - 1] == text)) return &slot;
  }
}

std::uint32_t StringPool::intern(std::string_view text) {
  const std::uint32_t hash = hash_of(text);
  const Slot* slot = slot_of(text, hash);
  if (slot->entry != 0) return slot->entry - 1;
  if ((texts_.size() + 1) * 3 > slots_.size() * 2) {
    grow();
    slot = slot_of(text, hash);
  }
  texts_.push_back(store(text));
  slots_[static_cast<std::size_t>(slot - slots_.data())] = {hash, size()};
  return size() - 1;
}

std::uint32_t StringPool::find(std::string_view text) const noexcept {
  const std::uint32_t entry = slot_of(text, hash_of(text))->entry;
  return entry == 0 ? kAbsent : entry - 1;
}

void StringPool::grow() {
  std::vector<Slot> larger(slots_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.entry == 0) continue;
    std::size_t at = slot.hash & mask;
    while (larger[at].entry != 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  slots_ = std::move(larger);
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
