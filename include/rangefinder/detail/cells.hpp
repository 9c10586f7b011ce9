// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace rangefinder::detail {

/// What a column stores. It grows as `std::vector` does, but by `realloc`, which moves large blocks by their page
/// table: a column of gigabytes is never there twice, and nothing is copied.
template <typename T>
class Cells {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t), "moved as bytes");

 public:
  Cells() = default;
  Cells(const Cells& other) {
    reserve(other.size_);
    std::copy(other.begin(), other.end(), values_);
    size_ = other.size_;
  }
  Cells(Cells&& other) noexcept { swap(other); }
  Cells& operator=(Cells other) noexcept { return swap(other), *this; }
  ~Cells() { std::free(values_); }

  T& operator[](std::size_t at) noexcept { return values_[at]; }
  const T& operator[](std::size_t at) const noexcept { return values_[at]; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return values_; }
  T* end() noexcept { return values_ + size_; }
  const T* begin() const noexcept { return values_; }
  const T* end() const noexcept { return values_ + size_; }

  void push_back(T value) {
    if (size_ == capacity_) take(capacity_ == 0 ? kFirst : 2 * capacity_);
    values_[size_++] = value;
  }
  void reserve(std::size_t size) {
    if (size > capacity_) take(size);
  }
  /// Further ones become `value`.
  void resize(std::size_t size, T value) {
    if (size > capacity_) take(std::max(size, 2 * capacity_));
    if (size > size_) std::fill(values_ + size_, values_ + size, value);
    size_ = size;
  }
  /// Frees the memory as well.
  void clear() noexcept { *this = {}; }
  void swap(Cells& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  static constexpr std::size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): of pointers, too
  static constexpr std::size_t kFirst = 64 / kBytes + 1;

  /// Out of line: what adds a value is small enough to be inlined without it.
  [[gnu::noinline]] void take(std::size_t capacity) {
    void* const taken = capacity <= kMost ? std::realloc(static_cast<void*>(values_), capacity * kBytes) : nullptr;
    if (taken == nullptr) throw std::bad_alloc();
    values_ = static_cast<T*>(taken);
    capacity_ = capacity;
  }
  static constexpr std::size_t kMost = static_cast<std::size_t>(-1) / 2 / kBytes;

  T* values_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace rangefinder::detail
