// SPDX-License-Identifier: MIT
#include "injection/nvtx_domain.hpp"

#include "injection/settings.hpp"

#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/detail/nvtx.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

namespace rangefinder::injection {
namespace {

std::atomic<Domain*> domains{nullptr};

constexpr std::size_t kBuckets = 1024;
std::atomic<RegisteredString*> registered[kBuckets]{};  // lists, by the hash of the text

/// Empty without memory.
std::string_view copy_of(std::string_view text) noexcept {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return {};
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void free_copy(std::string_view text) noexcept { std::free(const_cast<char*>(text.data())); }

/// The one of that text in a list that only grows, else the one that `make` makes of a copy of the text, which is
/// added; null without memory.
template <typename Item, Item* Item::*next, std::string_view Item::*text_of, typename Make>
Item* find_or_add(std::atomic<Item*>& list, std::string_view text, Make make) noexcept {
  Item* made = nullptr;
  for (;;) {
    Item* first = list.load(std::memory_order_acquire);
    for (Item* item = first; item != nullptr; item = item->*next) {
      if (item->*text_of != text) continue;
      if (made != nullptr) free_copy(made->*text_of);
      delete made;
      return item;
    }
    if (made == nullptr) {
      const std::string_view copy = copy_of(text);
      if (copy.data() == nullptr) return nullptr;
      made = make(copy);
      if (made == nullptr) return free_copy(copy), nullptr;
    }
    made->*next = first;
    if (list.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return made;
  }
}

}  // namespace

const RegisteredString* RegisteredString::of(std::string_view text) noexcept {
  return find_or_add<RegisteredString, &RegisteredString::next, &RegisteredString::text>(
      registered[std::hash<std::string_view>{}(text) % kBuckets], text, [](std::string_view copy) {
        return new (std::nothrow) RegisteredString{detail::intern_name(copy), copy};
      });
}

Domain& Domain::unnamed() noexcept {
  static Domain domain;  // trivially destroyed
  return domain;
}

Domain* Domain::named(std::string_view name) noexcept {
  return find_or_add<Domain, &Domain::next_, &Domain::name_>(domains, name, [](std::string_view copy) {
    auto* const made = new (std::nothrow) Domain;
    if (made == nullptr) return made;
    made->name_ = copy;
    made->without_category_ = made->intern({});
    made->set_recorded(records_domain(copy));
    return made;
  });
}

void Domain::tell_left_out() noexcept {
  if (!told_.exchange(true, std::memory_order_relaxed)) detail::domain_left_out(name_.empty() ? "default" : name_);
}

std::uint32_t Domain::intern(std::string_view category) const noexcept {
  if (name_.empty()) return category.empty() ? 0 : detail::intern_category(category);
  char text[512];
  const int size = std::snprintf(
      text, sizeof text, "%.*s%c%.*s", static_cast<int>(std::min<std::size_t>(name_.size(), 255)), name_.data(),
      detail::kBehindDomain, static_cast<int>(std::min<std::size_t>(category.size(), 255)), category.data());
  return size < 0 ? 0 : detail::intern_category({text, static_cast<std::size_t>(size)});
}

/// The number's slot, or the free one where it belongs; null when all are taken.
std::atomic<std::uint64_t>* Domain::slot(std::uint32_t number) noexcept {
  for (std::size_t i = 0; i < kSlots; ++i) {
    std::atomic<std::uint64_t>& at = slots_[(number + i) % kSlots];
    const std::uint64_t held = at.load(std::memory_order_acquire);
    if (held == 0 || held >> 32 == number) return &at;
  }
  return nullptr;
}

std::uint32_t Domain::category(std::uint32_t number) noexcept {
  if (number == 0) return without_category_;
  if (const std::atomic<std::uint64_t>* at = slot(number); at != nullptr) {
    if (const std::uint64_t held = at->load(std::memory_order_acquire); held >> 32 == number)
      return static_cast<std::uint32_t>(held);
  }
  char text[16];
  const int size = std::snprintf(text, sizeof text, "%u", number);
  name_category(number, {text, static_cast<std::size_t>(size)});
  return intern({text, static_cast<std::size_t>(size)});
}

void Domain::name_category(std::uint32_t number, std::string_view name) noexcept {
  if (number == 0) return;
  const std::uint64_t value = std::uint64_t{number} << 32 | intern(name);
  while (std::atomic<std::uint64_t>* at = slot(number)) {
    std::uint64_t held = at->load(std::memory_order_acquire);
    if ((held == 0 || held >> 32 == number) && at->compare_exchange_strong(held, value, std::memory_order_acq_rel))
      return;
  }
}

}  // namespace rangefinder::injection
