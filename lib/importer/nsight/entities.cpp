// SPDX-License-Identifier: MIT
#include "importer/nsight/entities.hpp"

namespace rangefinder::importer::nsight {

ProcessIndex Entities::process(std::int64_t global_id) {
  const auto key = static_cast<std::uint64_t>(process_part(global_id));
  const auto [at, is_new] = processes_.try_emplace(key, static_cast<ProcessIndex>(timeline_.processes.size()));
  if (is_new) {
    ProcessInfo info;
    info.pid = pid_of(global_id);
    timeline_.processes.push_back(std::move(info));
  }
  return at->second;
}

ThreadIndex Entities::thread(std::int64_t global_id) {
  const auto found = threads_.find(static_cast<std::uint64_t>(global_id));
  if (found != threads_.end()) return found->second;
  ThreadInfo info;
  info.process = process(global_id);
  info.tid = tid_of(global_id);
  const auto index = static_cast<ThreadIndex>(timeline_.threads.size());
  timeline_.threads.push_back(std::move(info));
  threads_.emplace(static_cast<std::uint64_t>(global_id), index);
  return index;
}

ThreadIndex Entities::unknown_thread() { return thread(0); }

DeviceIndex Entities::device(ProcessIndex process, std::uint32_t id) {
  const auto [at, is_new] =
      devices_.try_emplace(std::uint64_t{process} << 32 | id, static_cast<DeviceIndex>(timeline_.devices.size()));
  if (is_new) {
    DeviceInfo info;
    info.process = process;
    info.id = id;
    timeline_.devices.push_back(std::move(info));
  }
  return at->second;
}

StreamIndex Entities::stream(ProcessIndex process, std::uint32_t device_id, std::uint32_t context,
                             std::uint32_t green_context, std::int64_t stream) {
  const StreamKey key{device(process, device_id), context, green_context, stream};
  const auto [at, is_new] = streams_.try_emplace(key, static_cast<StreamIndex>(timeline_.streams.size()));
  if (is_new) {
    StreamInfo info;
    info.device = key.device;
    info.context = context;
    info.id = stream;
    info.green_context = green_context;
    timeline_.streams.push_back(info);
    device_of_context_.try_emplace(std::uint64_t{process} << 32 | context, device_id);
  }
  return at->second;
}

std::uint32_t Entities::device_of_context(ProcessIndex process, std::uint32_t context, std::uint32_t otherwise) const {
  const auto found = device_of_context_.find(std::uint64_t{process} << 32 | context);
  return found == device_of_context_.end() ? otherwise : found->second;
}

ProcessIndex Entities::assumed_process() {
  if (!assumed_process_) assumed_process_ = find_assumed_process();
  return *assumed_process_;
}

ProcessIndex Entities::find_assumed_process() {
  if (timeline_.calls.size() != 0) {
    const ProcessIndex first = timeline_.threads[timeline_.calls.thread.front()].process;
    for (const ThreadIndex thread : timeline_.calls.thread)
      if (timeline_.threads[thread].process != first) return process(0);
    return first;
  }
  return timeline_.processes.size() == 1 ? ProcessIndex{0} : process(0);
}

std::optional<ProcessIndex> Entities::find_process(std::int64_t global_id) const {
  const auto found = processes_.find(static_cast<std::uint64_t>(process_part(global_id)));
  return found == processes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ThreadIndex> Entities::find_thread(std::int64_t global_id) const {
  const auto found = threads_.find(static_cast<std::uint64_t>(global_id));
  return found == threads_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace rangefinder::importer::nsight
