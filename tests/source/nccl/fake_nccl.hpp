// SPDX-License-Identifier: MIT
#pragma once

#include "source/nccl/profiler_api.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace rangefinder::testing {

/// Numbers of ncclFunc_t.
enum class NcclFunction {
  kBroadcast = 0,
  kReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kAllReduce = 4,
  kSend = 6,
  kReceive = 7,
  kAllToAll = 8,
  kScatter = 9,
  kGather = 10,
};

/// What a program asks NCCL for, and what NCCL decides.
struct NcclTask {
  NcclFunction function = NcclFunction::kAllReduce;
  std::size_t count = 1;  ///< as the program gives it
  int datatype = 7;       ///< ncclDataType_t: ncclFloat32
  int root = 0;           ///< or the other end
  int algorithm = 1;      ///< NCCL_ALGO_RING
  int protocol = 0;       ///< NCCL_PROTO_LL
  int channels = 1;
  bool uses_network = false;     ///< a proxy operation a channel
  bool by_copy_engines = false;  ///< from 2.29 on

  bool is_point() const { return function == NcclFunction::kSend || function == NcclFunction::kReceive; }
};

struct NcclCommunicator {
  void* context = nullptr;
  std::string name;
  std::uint64_t hash = 0;
  int ranks = 2;
  int rank = 0;
  std::array<std::uint64_t, 16> sequence_numbers{};  ///< by function
};

/// A plugin's table of one version, called with descriptors of that version. Bytes that NCCL does not set are not zero.
class NcclPluginCalls {
 public:
  virtual ~NcclPluginCalls() = default;
  /// What it returned. For communicators of v1 to v3 only the mask.
  virtual int init(NcclCommunicator& communicator, int* mask) = 0;
  virtual int finalize(void* context) = 0;
  virtual int stop(void* handle) = 0;
  virtual int record_state(void* handle) = 0;
  virtual const char* name() const = 0;

  virtual void start_group(void* context, void** handle) = 0;
  virtual void start_group_api(void* context, void** handle) = 0;  // v5 on, as the next
  virtual void start_api(void* context, void** handle, const NcclTask&, void* parent, bool is_captured) = 0;
  virtual void start_task(const NcclCommunicator&, void** handle, const NcclTask&, void* parent, void* group) = 0;
  virtual void start_copy_engine(const NcclCommunicator&, void** handle, const NcclTask&, void* parent) = 0;  // v6
  virtual void start_kernel_channel(void* context, void** handle, void* parent, int channel) = 0;             // v3 on
  virtual void start_proxy_operation(void* context, void** handle, void* parent, int channel, pid_t pid) = 0;
  virtual int start_nothing(void* context) = 0;  ///< with null pointers for handle and event
};

/// NCCL of the release that first had a version of the interface, as far as it calls plugins: src/plugin/profiler.cc,
/// hostStreamPlanTask() and profilerProxyProgress(). Threads as with NCCL: one at a time launches on a communicator,
/// any may make progress.
class FakeNccl {
 public:
  static constexpr int kNewest = 6;
  static const char* const kBuiltPlugin;
  /// Loads the plugin from that path.
  explicit FakeNccl(int version, const char* plugin = kBuiltPlugin);
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  int version() const noexcept { return version_; }
  int mask() const noexcept;
  NcclPluginCalls& plugin() noexcept { return *calls_; }

  std::unique_ptr<NcclCommunicator> make(std::string name = "world", std::uint64_t hash = 0xABC, int ranks = 2,
                                         int rank = 0);
  void finalize(NcclCommunicator& communicator);

  /// Collectives of a CUDA graph, and what NCCL keeps for its replays.
  struct Captured {
    NcclCommunicator* communicator;
    std::vector<NcclTask> tasks;
    std::vector<void*> api;
    bool has_host_function;
  };
  /// launch() while a stream is captured. Tells of the tasks now where the graph gets no function of the host.
  Captured capture(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks);
  /// What that function does, on a thread of CUDA's.
  void replay(const Captured& captured);

  /// One ncclGroupStart() to ncclGroupEnd(). The handles of the tasks' events, in their order.
  std::vector<void*> launch(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks);
  /// What the progress thread has to do: all of it, in an order that is possible. Without numbers all of a collective's
  /// children start before the first stops.
  void progress(std::mt19937_64* random = nullptr);
  /// Part of it: starts children, or stops some, until nothing is left or `steps` are done.
  std::size_t progress(std::size_t steps, std::mt19937_64& random);

 private:
  struct Child {
    void* context;
    void* task;
    int channel;
    bool is_kernel_channel;
    void* handle = nullptr;
  };
  void upload(const NcclCommunicator& communicator, const NcclTask& task, void* handle, int mask);
  void start(Child& child);
  std::vector<void*> call_api(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks, bool is_captured);
  std::vector<void*> tell(NcclCommunicator& communicator, const std::vector<NcclTask>& tasks,
                          const std::vector<void*>& api);

  int version_;
  void* library_;
  std::unique_ptr<NcclPluginCalls> calls_;
  int mask_ = 0;  // as NCCL has it: plugins store it while launching threads load it
  std::mutex queue_mutex_;
  std::vector<Child> queue_;
  std::mutex progress_mutex_;  // for what follows: there is one progress thread a communicator, here one in all
  std::vector<Child> running_;
};

/// Names as NCCL has them.
const char* nccl_function_name(NcclFunction function);
const char* nccl_datatype_name(int datatype);
std::size_t nccl_datatype_bytes(int datatype);
const char* nccl_algorithm_name(int algorithm);
const char* nccl_protocol_name(int protocol);

}  // namespace rangefinder::testing
