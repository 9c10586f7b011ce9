// SPDX-License-Identifier: MIT
#include "importer/kineto/tracks.hpp"

#include "importer/kineto/json_text.hpp"

#include <algorithm>
#include <vector>

namespace rangefinder::importer::kineto {
namespace {

// Numbers for ids that are words. Real ids are not negative, but for Kineto's -1.
constexpr std::int64_t kFirstWordId = -1000;

}  // namespace

std::size_t Tracks::Hash::operator()(const IdPair& ids) const noexcept {
  return base::IdHash::mix(base::IdHash::mix(static_cast<std::uint64_t>(ids.first)) +
                           static_cast<std::uint64_t>(ids.second));
}

std::int64_t Tracks::id_of(const TrackId& id) {
  if (id.is_number()) return id.number;
  if (id.form == TrackId::Form::kAbsent) return 0;
  std::string word;
  if (id.text.escaped) {
    base::append_json_unescaped(word, id.text.bytes);
  } else {
    word = id.text.bytes;
  }
  return words_.try_emplace(std::move(word), kFirstWordId - static_cast<std::int64_t>(words_.size())).first->second;
}

ProcessIndex Tracks::process(std::int64_t pid) {
  const auto [at, added] = processes_.try_emplace(pid, static_cast<ProcessIndex>(timeline_.processes.size()));
  if (added) timeline_.processes.emplace_back().pid = pid;
  return at->second;
}

ThreadIndex Tracks::find_or_add(IdPair ids) {
  CachedThread& cached =
      recent_threads_[(static_cast<std::uint64_t>(ids.first) * 5 + static_cast<std::uint64_t>(ids.second)) %
                      recent_threads_.size()];
  if (cached.index != kNone && cached.ids == ids) return cached.index;
  const auto [at, added] = threads_.try_emplace(ids, static_cast<ThreadIndex>(timeline_.threads.size()));
  if (added) {
    ThreadInfo& info = timeline_.threads.emplace_back();
    info.process = process(ids.first);
    info.tid = ids.second;
  }
  cached = {ids, at->second};
  return at->second;
}

ThreadIndex Tracks::thread(const Event& event) { return find_or_add({id_of(event.process), id_of(event.thread)}); }

ThreadIndex Tracks::thread_or_none(const Event& event) {
  if (!event.process.is_number() || event.process.number < 0) return kNone;
  return thread(event);
}

DeviceIndex Tracks::device(std::int64_t id) {
  if (recent_device_ != kNone && recent_device_id_ == id) return recent_device_;
  const auto [at, added] = devices_.try_emplace(id, static_cast<DeviceIndex>(timeline_.devices.size()));
  if (added) timeline_.devices.emplace_back().id = static_cast<std::uint32_t>(id);
  recent_device_id_ = id;
  recent_device_ = at->second;
  return at->second;
}

DeviceIndex Tracks::device_of(const Event& event) {
  if (event.arguments.has(EventArguments::kDevice)) return device(event.arguments.device);
  std::int64_t id = 0;
  if (event.process.form != TrackId::Form::kText || !trailing_number(event.process.text.bytes, id))
    id = id_of(event.process);
  return device(id);
}

StreamIndex Tracks::stream(DeviceIndex device, std::uint32_t context, std::int64_t id) {
  const StreamKey key{{id, static_cast<std::int64_t>(std::uint64_t{device} << 32 | context)}};
  if (recent_stream_ != kNone && recent_stream_key_ == key) return recent_stream_;
  const auto [at, added] = streams_.try_emplace(key, static_cast<StreamIndex>(timeline_.streams.size()));
  if (added) timeline_.streams.push_back({device, context, id});
  recent_stream_key_ = key;
  recent_stream_ = at->second;
  return at->second;
}

StreamIndex Tracks::stream(const Event& event) {
  const EventArguments& arguments = event.arguments;
  std::int64_t id = 0;
  if (arguments.has(EventArguments::kStream)) {
    id = arguments.stream;
  } else if (event.thread.form != TrackId::Form::kText || !trailing_number(event.thread.text.bytes, id)) {
    id = id_of(event.thread);  // torch 1.9 wrote "stream 7"
  }
  const auto context =
      arguments.has(EventArguments::kContext) ? static_cast<std::uint32_t>(arguments.context) : std::uint32_t{0};
  return stream(device_of(event), context, id);
}

void Tracks::name_process(const Event& event) {
  std::string scratch;
  process_names_[id_of(event.process)] = meaning(event.arguments.name, scratch);
}

void Tracks::name_thread(const Event& event) {
  std::string scratch;
  thread_names_[{id_of(event.process), id_of(event.thread)}] = meaning(event.arguments.name, scratch);
}

void Tracks::finish() {
  // A track whose id is a word keeps it as its name, unless the trace gives it another.
  std::unordered_map<std::int64_t, std::string_view> words;
  for (const auto& [word, id] : words_) {
    words.emplace(id, word);
    process_names_.try_emplace(id, word);
  }
  for (ThreadInfo& info : timeline_.threads) {
    if (const auto at = words.find(info.tid); at != words.end()) info.name = at->second;
  }
  for (ProcessInfo& info : timeline_.processes) {
    if (const auto at = process_names_.find(info.pid); at != process_names_.end()) info.name = at->second;
  }
  for (ThreadInfo& info : timeline_.threads) {
    const auto at = thread_names_.find({timeline_.processes[info.process].pid, info.tid});
    if (at == thread_names_.end()) continue;
    info.name = at->second;
    while (info.name.ends_with(' ')) info.name.pop_back();  // Kineto's own: "thread 7 (python) "
  }
  choose_main_process();
  for (DeviceInfo& device : timeline_.devices) device.process = main_process_;
}

void Tracks::choose_main_process() {
  // Devices and streams belong to a process, so that there must be one.
  if (timeline_.processes.empty()) timeline_.processes.emplace_back();
  std::vector<std::size_t> calls(timeline_.processes.size(), 0);
  std::vector<std::size_t> ranges(timeline_.processes.size(), 0);
  for (const ThreadIndex thread : timeline_.calls.thread) ++calls[timeline_.threads[thread].process];
  for (const ThreadIndex thread : timeline_.ranges.thread) ++ranges[timeline_.threads[thread].process];
  calling_processes_ = calls.size() - static_cast<std::size_t>(std::count(calls.begin(), calls.end(), 0u));
  for (ProcessIndex i{0}; i < calls.size(); ++i) {
    if (std::pair(calls[i], ranges[i]) > std::pair(calls[main_process_], ranges[main_process_])) main_process_ = i;
  }
}

}  // namespace rangefinder::importer::kineto
