// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>

namespace rangefinder::detail {

/// Memory on whole pages of 2 MiB where it is as large as one. A page fault for each 4 KiB otherwise takes longer than
/// what is written there.
template <typename T>
struct LargePageAllocator {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{2} << 20;

  LargePageAllocator() = default;
  template <typename Other>
  LargePageAllocator(const LargePageAllocator<Other>&) noexcept {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(bytes < kPage ? ::operator new(bytes) : ::operator new (bytes, std::align_val_t{kPage}));
  }
  void deallocate(T* values, std::size_t count) noexcept {
    if (count * sizeof(T) < kPage)
      ::operator delete(values);
    else
      ::operator delete (values, std::align_val_t{kPage});
  }
  bool operator==(const LargePageAllocator&) const noexcept { return true; }
  bool operator!=(const LargePageAllocator&) const noexcept { return false; }
};

}  // namespace rangefinder::detail
