// SPDX-License-Identifier: MIT
#include "common/size_class_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace examples {

/// In front of a block. The pool keeps it until it ends, so that a second free of a block reads no stray memory.
struct alignas(SizeClassPool::kAlignment) SizeClassPool::Header {
  SizeClassPool* pool;
  Header* next;  // in its list
  std::uint64_t stream;
  std::size_t asked_bytes;
  std::size_t size_class;
  bool live;

  void* block() { return this + 1; }
  static Header* of(void* block) { return static_cast<Header*>(block) - 1; }
  std::size_t block_bytes() const { return std::size_t{1} << size_class; }
};

SizeClassPool::~SizeClassPool() {
  for (Header* header : all_) ::operator delete (header, std::align_val_t{kAlignment});
}

SizeClassPool::Header* SizeClassPool::take(Lists& lists, std::size_t size_class) {
  Header* const header = lists[size_class];
  if (header == nullptr) return nullptr;
  lists[size_class] = header->next;
  ++counts_.hits;
  counts_.free_block_bytes -= header->block_bytes();
  return header;
}

void* SizeClassPool::allocate(std::size_t bytes, std::uint64_t stream) {
  const auto size_class = static_cast<std::size_t>(std::bit_width(std::max(bytes, kAlignment) - 1));
  if (size_class >= kClasses) throw std::bad_alloc();
  const std::lock_guard lock(mutex_);
  // Made here, so that a free, which may not fail, finds its lists.
  Lists& own = by_stream_[stream];
  Header* header = take(own, size_class);
  if (header == nullptr) header = take(for_all_, size_class);
  if (header == nullptr) {
    if (all_.size() == all_.capacity()) all_.reserve(2 * all_.size() + 1);  // so that what is allocated is not lost
    const std::size_t block_bytes = std::size_t{1} << size_class;
    header = new (::operator new (sizeof(Header) + block_bytes, std::align_val_t{kAlignment})) Header{};
    header->size_class = size_class;
    all_.push_back(header);
    counts_.reserved_bytes += block_bytes;
  }
  header->pool = this;
  header->stream = stream;
  header->asked_bytes = bytes;
  header->live = true;
  ++counts_.allocations;
  counts_.live_bytes += bytes;
  counts_.live_block_bytes += header->block_bytes();
  counts_.asked_bytes += bytes;
  counts_.given_bytes += header->block_bytes();
  return header->block();
}

bool SizeClassPool::free(void* block) noexcept {
  Header* const header = Header::of(block);
  const std::lock_guard lock(mutex_);
  if (!header->live) {
    ++counts_.refused_frees;
    return false;
  }
  header->live = false;
  counts_.live_bytes -= header->asked_bytes;
  counts_.live_block_bytes -= header->block_bytes();
  counts_.free_block_bytes += header->block_bytes();
  Header*& list = by_stream_.find(header->stream)->second[header->size_class];
  header->next = list;
  list = header;
  return true;
}

void SizeClassPool::synchronized(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = by_stream_.find(stream);
  if (found == by_stream_.end()) return;
  for (std::size_t size_class = 0; size_class < kClasses; ++size_class) {
    Header*& list = found->second[size_class];
    while (list != nullptr) {
      Header* const header = list;
      list = header->next;
      header->next = for_all_[size_class];
      for_all_[size_class] = header;
    }
  }
}

SizeClassPool::Counts SizeClassPool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void SizeClassPool::free_anywhere(void* block) noexcept { Header::of(block)->pool->free(block); }

}  // namespace examples
