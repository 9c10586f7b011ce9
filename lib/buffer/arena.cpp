// SPDX-License-Identifier: MIT
#include "buffer/arena.hpp"

#include "base/file.hpp"
#include "base/file_mark.hpp"
#include "format/chunk.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace rangefinder::buffer {
namespace {

constexpr std::uint64_t kNameShare = 16;  // of the memory, for names
constexpr std::uint64_t kMinNameBytes = std::uint64_t{256} << 10;
constexpr std::uint32_t kMinBlocks = 4;
constexpr std::uint32_t kGrowBlocks = 256;  // 16 MiB a step
constexpr std::uint32_t kPreparedAtStart = 64;
constexpr std::uint32_t kDrainedShare = 4;  // of the blocks, most that are kept when they have been drained
constexpr std::uint32_t kFreeShare = 8;     // of the blocks, fewest free ones beside them
constexpr std::uint64_t kBlockBytes = detail::kBlockBytes;

void* reserve(std::size_t bytes, int protection) noexcept {
  void* memory = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Blocks on disk must exist before they are mapped: a store to a hole of a full disk is SIGBUS, in the host's thread.
// Gives the error number. Calls nothing that allocates: a thread that grows the memory may be in a signal handler.
int allocate(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (!base::within_file_size_limit(offset + bytes)) return EFBIG;
  int error = 0;
  do {
    error = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error != EOPNOTSUPP && error != ENOSYS) return error;
  static constexpr char kZeros[kBlockBytes] = {};
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n =
        ::pwrite(fd, kZeros, std::min<std::uint64_t>(sizeof kZeros, bytes - done), static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? ENOSPC : errno;
    done += static_cast<std::uint64_t>(n);
  }
  return 0;
}

/// In the place of one that a program has left which died, and of nothing else.
Result<base::Fd> make_live_file(const std::string& path) {
  Result<base::TemporaryFile> made = base::TemporaryFile::create(path);
  if (!made) return std::move(made).error();
  if (Status status = base::write_at(made->fd(), std::as_bytes(std::span(format::kLiveMagic)), 0, path); !status.ok())
    return std::move(status).error();
  Status status = made->claim_name(path, [](const base::Fd& old) {
    const base::FileKind kind = base::mark_of_file(old).kind;
    return kind == base::FileKind::kLive || kind == base::FileKind::kEmpty ? base::Verdict::kReplace
                                                                           : base::Verdict::kForeign;
  });
  if (!status.ok()) return std::move(status).error();
  return made->release();
}

}  // namespace

Result<Arena*> Arena::create(const ArenaOptions& options) {
  auto arena = std::unique_ptr<Arena>(new (std::nothrow) Arena);
  if (arena == nullptr) return Error(ErrorCode::kIo, "recording memory: out of memory");
  Status status = arena->map(options);
  if (!status) return std::move(status).error();
  return arena.release();
}

Status Arena::map(const ArenaOptions& options) {
  keep_newest_ = options.keep_newest;
  const std::uint64_t names_bytes =
      std::max(kMinNameBytes, options.memory_bytes / kNameShare) / kBlockBytes * kBlockBytes;
  // Header and names share the first blocks' alignment, so that everything behind them is aligned too.
  const std::uint64_t head_bytes =
      (format::kLiveHeaderBytes + names_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  const std::uint64_t wanted =
      options.memory_bytes > head_bytes ? (options.memory_bytes - head_bytes) / kBlockBytes : 0;
  if (wanted < kMinBlocks) {
    return Error(ErrorCode::kInvalidArgument,
                 "memory_bytes: " + std::to_string(options.memory_bytes) + " is too little; at least " +
                     std::to_string(head_bytes + kMinBlocks * kBlockBytes) + " are needed");
  }
  const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, 1u << 24));
  block_limit_ = std::max(
      blocks, static_cast<std::uint32_t>(std::min<std::uint64_t>(options.limit_bytes / kBlockBytes, 1u << 24)));
  reservation_bytes_ = head_bytes + std::uint64_t{block_limit_} * kBlockBytes + kBlockBytes;
  reservation_ = static_cast<char*>(reserve(reservation_bytes_, PROT_NONE));
  if (reservation_ == nullptr) return base::system_error("reserve", "address space", errno);
  const auto address =
      (reinterpret_cast<std::uintptr_t>(reservation_) + kBlockBytes - 1) & ~std::uintptr_t{kBlockBytes - 1};
  mapping_ = reinterpret_cast<char*>(address);
  next_ =
      static_cast<std::atomic<std::uint32_t>*>(reserve(block_limit_ * sizeof(std::uint32_t), PROT_READ | PROT_WRITE));
  if (next_ == nullptr) return base::system_error("reserve", "block lists", errno);

  if (!options.live_path.empty()) {
    Result<base::Fd> live = make_live_file(options.live_path);
    if (!live) return std::move(live).error();
    fd_ = std::move(*live);
    live_path_ = options.live_path;
    if (const int error = allocate(fd_.get(), 0, head_bytes); error != 0)
      return base::system_error("reserve space for", live_path_, error);
  }
  const int sharing = fd_.valid() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  if (::mmap(mapping_, head_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | sharing, fd_.get(), 0) == MAP_FAILED)
    return base::system_error("map", options.live_path, errno);
  live_ = new (mapping_) format::LiveHeader{};
  names_ = mapping_ + format::kLiveHeaderBytes;
  names_bytes_ = names_bytes;
  blocks_ = mapping_ + head_bytes;
  if (!add_blocks(0, blocks)) return base::system_error("reserve space for", options.live_path, errno);

  live_->magic = format::kLiveMagic;
  live_->version = std::uint32_t{format::kMajorVersion} << 16 | format::kMinorVersion;
  live_->header_bytes = format::kLiveHeaderBytes;
  live_->capture_id = options.file_header.capture_id;
  live_->file_bytes = head_bytes + std::uint64_t{blocks} * kBlockBytes;
  live_->names_offset = format::kLiveHeaderBytes;
  live_->names_bytes = names_bytes;
  live_->blocks_offset = head_bytes;
  live_->block_bytes = kBlockBytes;
  live_->block_count = blocks;  // at the start; the file's size tells of later ones
  live_->file_header = options.file_header;
  live_->checksum = format::live_header_checksum(*live_);
  prepare(kPreparedAtStart);
  return {};
}

Arena::~Arena() {
  if (fd_.valid() && !retired_) base::remove_file(fd_, live_path_);
  if (reservation_ != nullptr) ::munmap(reservation_, reservation_bytes_);
  if (next_ != nullptr) ::munmap(next_, block_limit_ * sizeof(std::uint32_t));
}

bool Arena::add_blocks(std::uint32_t from, std::uint32_t count) noexcept {
  char* const at = blocks_ + std::size_t{from} * kBlockBytes;
  const std::size_t bytes = std::size_t{count} * kBlockBytes;
  const auto offset = static_cast<std::uint64_t>(at - mapping_);
  if (fd_.valid()) {
    if (const int error = allocate(fd_.get(), offset, bytes); error != 0) {
      errno = error;
      return false;
    }
  }
  const int sharing = fd_.valid() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  if (::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | sharing, fd_.get(),
             static_cast<off_t>(fd_.valid() ? offset : 0)) == MAP_FAILED)
    return false;
  block_count_.store(from + count, std::memory_order_relaxed);
  // Last first, so that the first is taken first: low blocks are the ones that are prepared.
  for (std::uint32_t i = count; i-- > 0;) give_free(block(from + i));
  return true;
}

bool Arena::grow() noexcept {
  const std::uint32_t have = block_count();
  const std::uint32_t count = std::min(kGrowBlocks, block_limit_ - have);
  return count != 0 && add_blocks(have, count);
}

bool Arena::prepare(std::uint32_t count) noexcept {
  const std::uint32_t have = block_count();
  count = std::min(count, have - std::min(have, prepared_));
  if (count == 0) return false;
  char* const at = blocks_ + std::size_t{prepared_} * kBlockBytes;
  const std::size_t bytes = std::size_t{count} * kBlockBytes;
  prepared_ += count;
  if (::madvise(at, bytes, MADV_POPULATE_WRITE) == 0) return true;
  // Older kernels. A fetch_or of nothing writes the page without disturbing a thread that uses the block already.
  for (std::size_t i = 0; i < bytes; i += 4096) __atomic_fetch_or(at + i, 0, __ATOMIC_RELAXED);
  return true;
}

format::BlockHeader* Arena::take_free() noexcept {
  std::uint64_t head = free_head_.load(std::memory_order_acquire);
  for (;;) {
    const auto position = static_cast<std::uint32_t>(head);
    if (position == 0) return nullptr;
    const std::uint64_t next = ((head >> 32) + 1) << 32 | next_[position - 1].load(std::memory_order_relaxed);
    if (free_head_.compare_exchange_weak(head, next, std::memory_order_acquire, std::memory_order_acquire)) {
      free_count_.fetch_sub(1, std::memory_order_relaxed);
      return block(position - 1);
    }
  }
}

void Arena::give_free(format::BlockHeader* given) noexcept {
  given->state.store(static_cast<std::uint32_t>(format::BlockState::kFree), std::memory_order_release);
  push_free(index_of(given) + 1);
}

void Arena::push_free(std::uint32_t position) noexcept {
  std::uint64_t head = free_head_.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next_[position - 1].store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | position;
  } while (!free_head_.compare_exchange_weak(head, next, std::memory_order_release, std::memory_order_relaxed));
  free_count_.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t Arena::push_full(format::BlockHeader* full) noexcept {
  full->state.store(static_cast<std::uint32_t>(format::BlockState::kFull), std::memory_order_release);
  const std::uint32_t position = index_of(full) + 1;
  std::uint32_t head = full_head_.load(std::memory_order_relaxed);
  do {
    next_[position - 1].store(head, std::memory_order_relaxed);
  } while (!full_head_.compare_exchange_weak(head, position, std::memory_order_release, std::memory_order_relaxed));
  return full_count_.fetch_add(1, std::memory_order_relaxed) + 1;
}

format::BlockHeader* Arena::take_all_full() noexcept {
  std::uint32_t position = full_head_.exchange(0, std::memory_order_acquire);
  // The list is newest first; turn it round, or a thread's blocks would reach the capture in the wrong order.
  std::uint32_t reversed = 0;
  std::uint32_t count = 0;
  while (position != 0) {
    const std::uint32_t next = next_[position - 1].load(std::memory_order_relaxed);
    next_[position - 1].store(reversed, std::memory_order_relaxed);
    reversed = position;
    position = next;
    ++count;
  }
  full_count_.fetch_sub(count, std::memory_order_relaxed);
  return reversed == 0 ? nullptr : block(reversed - 1);
}

format::BlockHeader* Arena::next_full(format::BlockHeader* of) const noexcept {
  const std::uint32_t position = next_[index_of(of)].load(std::memory_order_relaxed);
  return position == 0 ? nullptr : block(position - 1);
}

void Arena::give_drained(format::BlockHeader* given) noexcept {
  if (!keep_newest_) return give_free(given);
  given->state.store(static_cast<std::uint32_t>(format::BlockState::kFree), std::memory_order_release);
  const std::uint32_t position = index_of(given) + 1;
  next_[position - 1].store(0, std::memory_order_relaxed);
  if (drained_last_ != 0)
    next_[drained_last_ - 1].store(position, std::memory_order_relaxed);
  else
    drained_first_ = position;
  drained_last_ = position;
  ++drained_count_;
  free_oldest_drained();
}

void Arena::free_oldest_drained() noexcept {
  const std::uint32_t blocks = block_count();
  while (drained_count_ != 0 && (drained_count_ > blocks / kDrainedShare || free_count() <= blocks / kFreeShare)) {
    const std::uint32_t oldest = drained_first_;
    drained_first_ = next_[oldest - 1].load(std::memory_order_relaxed);
    if (drained_first_ == 0) drained_last_ = 0;
    --drained_count_;
    push_free(oldest);
  }
}

bool Arena::publish_name(std::uint32_t id, std::string_view text) noexcept {
  // One writer at a time: the caller holds the recorder's lock.
  const std::uint64_t used = live_->names_used.load(std::memory_order_relaxed);
  const std::uint64_t bytes = format::padded(2 * sizeof(std::uint32_t) + text.size());
  if (bytes > names_bytes_ - used) return false;
  char* at = names_ + used;
  const auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(at, &id, sizeof id);
  std::memcpy(at + sizeof id, &size, sizeof size);
  if (!text.empty()) std::memcpy(at + 2 * sizeof(std::uint32_t), text.data(), text.size());
  live_->names_used.store(used + bytes, std::memory_order_release);
  return true;
}

std::uint64_t Arena::bytes() const noexcept {
  return static_cast<std::uint64_t>(blocks_ - mapping_) + std::uint64_t{block_count()} * kBlockBytes;
}

void Arena::retire(bool remove_file) noexcept {
  // Atomic under the kernel's lock: at every moment a straggler's store finds either the file or the fresh pages.
  const std::size_t bytes = reservation_bytes_ - static_cast<std::size_t>(mapping_ - reservation_);
  // Where it fails, the file's pages stay, and what stragglers store goes there.
  (void)::mmap(mapping_, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fd_.valid()) {
    if (remove_file) base::remove_file(fd_, live_path_);
    base::unlock_file(fd_);  // a child of fork may hold the file open for longer
    fd_.reset();
  }
  retired_ = true;
}

}  // namespace rangefinder::buffer
