// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace rangefinder::importer::nsight {

/// Nsight writes processes and threads as one number: virtual machine << 48 | pid << 24 | tid.
constexpr std::int64_t process_part(std::int64_t global_id) noexcept { return global_id & ~std::int64_t{0xFFFFFF}; }
constexpr std::int64_t pid_of(std::int64_t global_id) noexcept { return global_id >> 24 & 0xFFFFFF; }
constexpr std::int64_t tid_of(std::int64_t global_id) noexcept { return global_id & 0xFFFFFF; }

/// The timeline's processes, threads, devices and streams, made when a row first refers to them: an export lists every
/// process of the machine.
class Entities {
 public:
  explicit Entities(Timeline& timeline) : timeline_(timeline) {}

  ProcessIndex process(std::int64_t global_id);
  ThreadIndex thread(std::int64_t global_id);
  /// For rows that name no thread: tid 0 of the process, or of an unknown one.
  ThreadIndex unknown_thread();
  DeviceIndex device(ProcessIndex process, std::uint32_t id);
  StreamIndex stream(ProcessIndex process, std::uint32_t device, std::uint32_t context, std::uint32_t green_context,
                     std::int64_t stream);
  /// The device whose context that is, by the streams seen so far; `otherwise` for a context that had none.
  std::uint32_t device_of_context(ProcessIndex process, std::uint32_t context, std::uint32_t otherwise) const;

  /// Device rows of versions that did not record the process: the only one that called CUDA, if there is only one.
  /// Found at the first use, when the calls have been read.
  ProcessIndex assumed_process();

  std::optional<ProcessIndex> find_process(std::int64_t global_id) const;
  std::optional<ThreadIndex> find_thread(std::int64_t global_id) const;

 private:
  // Ids come out of the file: they must not choose their buckets.
  struct Mix {
    std::size_t operator()(std::uint64_t x) const noexcept {
      x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
      x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
      return x ^ (x >> 31);
    }
  };
  struct StreamKey {
    DeviceIndex device;
    std::uint32_t context;
    std::uint32_t green_context;
    std::int64_t stream;
    bool operator==(const StreamKey&) const = default;
  };
  struct StreamMix {
    std::size_t operator()(const StreamKey& key) const noexcept {
      const Mix mix;
      return mix(mix(static_cast<std::uint64_t>(key.stream)) ^ (std::uint64_t{key.device} << 32 | key.context)) ^
             key.green_context;
    }
  };

  ProcessIndex find_assumed_process();

  Timeline& timeline_;
  std::optional<ProcessIndex> assumed_process_;
  std::unordered_map<std::uint64_t, ProcessIndex, Mix> processes_;
  std::unordered_map<std::uint64_t, ThreadIndex, Mix> threads_;
  std::unordered_map<std::uint64_t, DeviceIndex, Mix> devices_;  // process << 32 | id
  std::unordered_map<StreamKey, StreamIndex, StreamMix> streams_;
  std::unordered_map<std::uint64_t, std::uint32_t, Mix> device_of_context_;  // process << 32 | context
};

}  // namespace rangefinder::importer::nsight
