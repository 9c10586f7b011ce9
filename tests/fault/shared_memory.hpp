// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <stdexcept>

namespace rangefinder::testing {

/// Memory that a child of exec can map too, by the number of its file.
template <typename T>
class SharedMemory {
 public:
  SharedMemory() : fd_(::memfd_create("shared", 0)) {
    if (fd_ < 0 || ::ftruncate(fd_, sizeof(T)) != 0) throw std::runtime_error("memfd_create");
    void* memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    value_ = ::new (memory) T{};
  }
  ~SharedMemory() {
    ::munmap(value_, sizeof(T));
    ::close(fd_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  T* operator->() const noexcept { return value_; }
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
  T* value_;
};

}  // namespace rangefinder::testing
