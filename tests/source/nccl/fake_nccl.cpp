// SPDX-License-Identifier: MIT
#include "fake_nccl.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace rangefinder::testing {
namespace {

using namespace rangefinder::nccl;

/// What NCCL has not set.
template <typename Descriptor>
Descriptor unset(std::uint64_t type, void* parent, int rank) {
  Descriptor event;
  std::memset(&event, 0xA5, sizeof event);
  event.type = static_cast<decltype(event.type)>(type);
  event.parent = parent;
  event.rank = rank;
  return event;
}

/// As NCCL has it in the task: ncclTaskColl of collTaskAppend().
struct Counted {
  std::size_t count;
  int datatype;
};
Counted counted(const NcclTask& task) {
  if (task.function != NcclFunction::kAllGather && task.function != NcclFunction::kBroadcast)
    return {task.count, task.datatype};
  return {task.count * nccl_datatype_bytes(task.datatype), 0};
}

template <typename Event>
void set_communicator(Event& event, const NcclCommunicator& communicator) {
  if constexpr (requires { event.communicator_name; }) {
    event.communicator_name = communicator.name.empty() ? nullptr : communicator.name.c_str();
    event.communicator_hash = communicator.hash;
  }
}

template <typename Event>
void set_texts(Event& event, const NcclTask& task) {
  event.count = counted(task).count;
  if constexpr (requires { event.function = "text"; }) {
    event.function = nccl_function_name(task.function);
    event.datatype = nccl_datatype_name(counted(task).datatype);
  } else {
    event.function = static_cast<std::uint8_t>(task.function);
    event.datatype = static_cast<std::uint8_t>(counted(task).datatype);
  }
  if constexpr (requires { event.algorithm = "text"; }) {
    event.algorithm = nccl_algorithm_name(task.algorithm);
    event.protocol = nccl_protocol_name(task.protocol);
  } else if constexpr (requires { event.algorithm; }) {
    event.algorithm = static_cast<std::uint8_t>(task.algorithm);
    event.protocol = static_cast<std::uint8_t>(task.protocol);
  }
}

template <typename Profiler>
class CallsOf : public NcclPluginCalls {
  using Descriptor = typename Profiler::Descriptor;

 public:
  explicit CallsOf(const void* table) : table_(*static_cast<const Profiler*>(table)) {}

  int init(NcclCommunicator& communicator, int* mask) override {
    const char* const name = communicator.name.empty() ? nullptr : communicator.name.c_str();
    if constexpr (std::is_same_v<decltype(table_.init), InitV1>)
      return table_.init(&communicator.context, mask);
    else if constexpr (std::is_same_v<decltype(table_.init), InitV4>)
      return table_.init(&communicator.context, mask, name, communicator.hash, 1, communicator.ranks, communicator.rank,
                         nullptr);
    else
      return table_.init(&communicator.context, communicator.hash, mask, name, 1, communicator.ranks, communicator.rank,
                         nullptr);
  }
  int finalize(void* context) override { return table_.finalize(context); }
  int stop(void* handle) override { return table_.stop_event(handle); }
  int record_state(void* handle) override { return table_.record_event_state(handle, 22, nullptr); }
  const char* name() const override { return table_.name; }
  int start_nothing(void* context) override { return table_.start_event(context, nullptr, nullptr); }

  void start_group(void* context, void** handle) override {
    auto event = unset<Descriptor>(kGroup, nullptr, 0);
    table_.start_event(context, handle, &event);
  }
  void start_group_api(void* context, void** handle) override {
    if constexpr (requires(Descriptor event) { event.group_api; }) {
      auto event = unset<Descriptor>(kGroupApi, nullptr, 0);
      event.group_api = {false, 1};
      table_.start_event(context, handle, &event);
    }
  }
  void start_api(void* context, void** handle, const NcclTask& task, void* parent, bool is_captured) override {
    if constexpr (requires(Descriptor event) { event.collective_api; }) {
      auto event = unset<Descriptor>(task.is_point() ? kPointApi : kCollectiveApi, parent, 0);
      const char* const function = nccl_function_name(task.function);
      if (task.is_point())
        event.point_api = {function, task.count, nccl_datatype_name(task.datatype), nullptr, is_captured};
      else
        event.collective_api = {function,  task.count, nccl_datatype_name(task.datatype),
                                task.root, nullptr,    is_captured};
      table_.start_event(context, handle, &event);
    }
  }
  void start_task(const NcclCommunicator& communicator, void** handle, const NcclTask& task, void* parent,
                  void* group) override {
    auto event = unset<Descriptor>(task.is_point() ? kPoint : kCollective, parent, communicator.rank);
    if (task.is_point())
      set(event.point, communicator, task, group);
    else
      set(event.collective, communicator, task, group);
    table_.start_event(communicator.context, handle, &event);
  }
  void start_copy_engine(const NcclCommunicator& communicator, void** handle, const NcclTask& task,
                         void* parent) override {
    if constexpr (requires(Descriptor event) { event.copy_engine; }) {
      auto event = unset<Descriptor>(kCopyEngine, parent, communicator.rank);
      set_texts(event.copy_engine, task);
      event.copy_engine.root = task.root;
      event.copy_engine.sync_strategy = "UC";
      table_.start_event(communicator.context, handle, &event);
    }
  }
  void start_kernel_channel(void* context, void** handle, void* parent, int channel) override {
    if constexpr (requires(Descriptor event) { event.kernel_channel; }) {
      auto event = unset<Descriptor>(kKernelChannel, parent, 0);
      event.kernel_channel.channel = static_cast<std::uint8_t>(channel);
      table_.start_event(context, handle, &event);
    }
  }
  void start_proxy_operation(void* context, void** handle, void* parent, int channel, pid_t pid) override {
    auto event = unset<Descriptor>(kProxyOperation, parent, 0);
    event.proxy_operation = {pid, static_cast<std::uint8_t>(channel), 1, 4, 1 << 17, 1};
    table_.start_event(context, handle, &event);
  }

 private:
  template <typename Event>
  static void set(Event& event, const NcclCommunicator& communicator, const NcclTask& task, void* group) {
    set_communicator(event, communicator);
    set_texts(event, task);
    if constexpr (requires { event.sequence_number; })
      event.sequence_number = communicator.sequence_numbers.at(static_cast<std::size_t>(task.function));
    if constexpr (requires { event.root; })
      event.root = task.root;
    else
      event.peer = task.root;
    if constexpr (requires { event.channels; }) event.channels = static_cast<std::uint8_t>(task.channels);
    if constexpr (requires { event.max_channels; }) event.max_channels = 32;
    if constexpr (requires { event.parent_group; }) event.parent_group = group;
  }

  const Profiler table_;
};

std::unique_ptr<NcclPluginCalls> calls_of(int version, const void* table) {
  switch (version) {
    case 1:
      return std::make_unique<CallsOf<ProfilerV1>>(table);
    case 2:
      return std::make_unique<CallsOf<ProfilerV2>>(table);
    case 3:
      return std::make_unique<CallsOf<ProfilerV3>>(table);
    case 4:
      return std::make_unique<CallsOf<ProfilerV4>>(table);
    case 5:
      return std::make_unique<CallsOf<ProfilerV5>>(table);
    default:
      return std::make_unique<CallsOf<ProfilerV6>>(table);
  }
}

/// What NCCL has in a task before its event starts.
void* const kLeftOver = reinterpret_cast<void*>(std::uintptr_t{0xDEADBEEF});

constexpr std::uint64_t kBelowTasks = kProxyOperation | kProxyStep | kKernelChannel | kNetworkPlugin;

}  // namespace

const char* const FakeNccl::kBuiltPlugin = RANGEFINDER_NCCL_PLUGIN;

FakeNccl::FakeNccl(int version, const char* plugin)
    : version_(version), library_(::dlopen(plugin, RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) throw std::runtime_error(::dlerror());
  const std::string symbol = "ncclProfiler_v" + std::to_string(version);
  const void* const table = ::dlsym(library_, symbol.c_str());
  if (table == nullptr) throw std::runtime_error(symbol + ": not exported");
  calls_ = calls_of(version, table);
}

FakeNccl::~FakeNccl() { ::dlclose(library_); }

int FakeNccl::mask() const noexcept { return __atomic_load_n(&mask_, __ATOMIC_RELAXED); }

std::unique_ptr<NcclCommunicator> FakeNccl::make(std::string name, std::uint64_t hash, int ranks, int rank) {
  auto communicator = std::make_unique<NcclCommunicator>();
  communicator->name = std::move(name);
  communicator->hash = hash;
  communicator->ranks = ranks;
  communicator->rank = rank;
  communicator->context = kLeftOver;
  if (calls_->init(*communicator, &mask_) != kSuccess) throw std::runtime_error("init failed");
  return communicator;
}

void FakeNccl::finalize(NcclCommunicator& communicator) {
  if (calls_->finalize(communicator.context) != kSuccess) throw std::runtime_error("finalize failed");
}

std::vector<void*> FakeNccl::call_api(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks,
                                      bool is_captured) {
  std::vector<void*> api(tasks.size(), nullptr);
  const int mask = this->mask();
  if (version_ < 5) return api;
  void* group = nullptr;
  if (mask != 0) calls_->start_group_api(communicator.context, &group);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::uint64_t bits = tasks[i].is_point() ? kPointApi | kPoint | kBelowTasks
                                                   : kCollectiveApi | kCollective | kBelowTasks | kCopyEngine;
    if ((static_cast<std::uint64_t>(mask) & bits) == 0) continue;
    api[i] = kLeftOver;
    calls_->start_api(communicator.context, &api[i], tasks[i], group, is_captured);
    if (api[i] == kLeftOver) throw std::runtime_error("a handle was not set");
    if (api[i] != nullptr) calls_->stop(api[i]);
  }
  if (group != nullptr) calls_->stop(group);
  return api;
}

std::vector<void*> FakeNccl::launch(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks) {
  return tell(communicator, tasks, call_api(communicator, tasks, false));
}

FakeNccl::Captured FakeNccl::capture(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks) {
  Captured captured{&communicator, tasks, call_api(communicator, tasks, true), false};
  const bool has_kernel_channels = version_ >= 3 && (mask() & kKernelChannel) != 0;
  for (const NcclTask& task : tasks)
    captured.has_host_function = captured.has_host_function || task.uses_network || has_kernel_channels;
  if (!captured.has_host_function) tell(communicator, tasks, captured.api);
  return captured;
}

void FakeNccl::replay(const Captured& captured) {
  if (captured.has_host_function) tell(*captured.communicator, captured.tasks, captured.api);
}

std::vector<void*> FakeNccl::tell(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks,
                                  const std::vector<void*>& api) {
  const int mask = this->mask();
  const auto bits = static_cast<std::uint64_t>(mask);
  std::vector<void*> handles(tasks.size(), nullptr);
  void* group = kLeftOver;
  if ((bits & (kGroup | kCollective | kPoint | kBelowTasks)) == 0) return handles;
  calls_->start_group(communicator.context, &group);
  if (group == kLeftOver) throw std::runtime_error("a handle was not set");
  // 2.23 to 2.25 look at the bits of collectives for points, too.
  const bool tells = version_ >= 5 || group != nullptr;
  const auto is_told = [&](const NcclTask& task) {
    const std::uint64_t own = task.is_point() && version_ >= 3 ? kPoint : kCollective;
    return tells && !task.by_copy_engines && (bits & (own | kBelowTasks)) != 0;
  };
  for (const bool points : {false, true}) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].is_point() != points || !is_told(tasks[i])) continue;
      handles[i] = kLeftOver;
      calls_->start_task(communicator, &handles[i], tasks[i], version_ >= 5 ? api[i] : group, group);
      if (handles[i] == kLeftOver) throw std::runtime_error("a handle was not set");
      ++communicator.sequence_numbers.at(static_cast<std::size_t>(tasks[i].function));
    }
  }
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (is_told(tasks[i])) upload(communicator, tasks[i], handles[i], mask);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (is_told(tasks[i]) && (version_ <= 2 || handles[i] != nullptr)) calls_->stop(handles[i]);
  if (group != nullptr) calls_->stop(group);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].by_copy_engines || version_ < 6 || (bits & kCopyEngine) == 0) continue;
    handles[i] = kLeftOver;
    calls_->start_copy_engine(communicator, &handles[i], tasks[i], api[i]);
    if (handles[i] == kLeftOver) throw std::runtime_error("a handle was not set");
    if (handles[i] != nullptr) calls_->stop(handles[i]);
  }
  return handles;
}

void FakeNccl::upload(const NcclCommunicator& communicator, const NcclTask& task, void* handle, int mask) {
  const std::lock_guard lock(queue_mutex_);
  for (int channel = 0; channel < task.channels; ++channel) {
    if (version_ >= 3 && (mask & kKernelChannel) != 0) queue_.push_back({communicator.context, handle, channel, true});
    if (task.uses_network && (mask & kProxyOperation) != 0)
      queue_.push_back({communicator.context, handle, channel, false});
  }
}

void FakeNccl::start(Child& child) {
  child.handle = kLeftOver;
  if (child.is_kernel_channel)
    calls_->start_kernel_channel(child.context, &child.handle, child.task, child.channel);
  else
    calls_->start_proxy_operation(child.context, &child.handle, child.task, child.channel, ::getpid());
  if (child.handle == kLeftOver) throw std::runtime_error("a handle was not set");
}

std::size_t FakeNccl::progress(std::size_t steps, std::mt19937_64& random) {
  const std::lock_guard progressing(progress_mutex_);
  std::size_t done = 0;
  for (; done < steps; ++done) {
    std::unique_lock lock(queue_mutex_);
    const bool can_start = !queue_.empty();
    if (!can_start && running_.empty()) break;
    if (can_start && (running_.empty() || random() % 2 == 0)) {
      const auto at = static_cast<std::ptrdiff_t>(random() % queue_.size());
      running_.push_back(queue_[static_cast<std::size_t>(at)]);
      queue_.erase(queue_.begin() + at);
      lock.unlock();
      start(running_.back());
      continue;
    }
    lock.unlock();
    const auto at = static_cast<std::ptrdiff_t>(random() % running_.size());
    void* const handle = running_[static_cast<std::size_t>(at)].handle;
    running_.erase(running_.begin() + at);
    if (handle == nullptr) continue;
    calls_->record_state(handle);
    calls_->stop(handle);
  }
  return done;
}

void FakeNccl::progress(std::mt19937_64* random) {
  if (random != nullptr) {
    while (progress(64, *random) != 0) {
    }
    return;
  }
  const std::lock_guard progressing(progress_mutex_);
  std::unique_lock lock(queue_mutex_);
  running_.insert(running_.end(), queue_.begin(), queue_.end());
  queue_.clear();
  lock.unlock();
  for (Child& child : running_)
    if (child.handle == nullptr) start(child);
  for (const Child& child : running_)
    if (child.handle != nullptr) calls_->stop(child.handle);
  running_.clear();
}

const char* nccl_function_name(NcclFunction function) {
  constexpr std::array<const char*, 11> names = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                                 "AllReduce", "SendRecv", "Send",      "Recv",
                                                 "AlltoAll",  "Scatter",  "Gather"};
  return names.at(static_cast<std::size_t>(function));
}
const char* nccl_datatype_name(int datatype) {
  constexpr std::array<const char*, 12> names = {"ncclInt8",    "Unknown",      "ncclInt32",      "ncclUint32",
                                                 "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                                 "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return names.at(static_cast<std::size_t>(datatype));
}
std::size_t nccl_datatype_bytes(int datatype) {
  constexpr std::array<std::size_t, 12> bytes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return bytes.at(static_cast<std::size_t>(datatype));
}
const char* nccl_algorithm_name(int algorithm) {
  constexpr std::array<const char*, 7> names = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                "NVLS_TREE", "PAT"};
  return names.at(static_cast<std::size_t>(algorithm));
}
const char* nccl_protocol_name(int protocol) {
  constexpr std::array<const char*, 3> names = {"LL", "LL128", "SIMPLE"};
  return names.at(static_cast<std::size_t>(protocol));
}

}  // namespace rangefinder::testing
