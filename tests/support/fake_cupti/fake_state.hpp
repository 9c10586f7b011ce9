// SPDX-License-Identifier: MIT
#pragma once

#include "fake_cupti.h"

#include <cupti.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fake {

inline constexpr std::uint32_t kKinds = 256;
inline constexpr std::uint32_t kCallbackIds = 8192;

struct ThreadBuffer;

/// A buffer of the client's, while it is with us.
struct Buffer {
  ThreadBuffer* owner = nullptr;
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::size_t max_records = 0;
  std::size_t used = 0;
  std::size_t records = 0;
  struct Timed {
    std::size_t offset;
    std::uint64_t done_at;  // on the device's clock
    std::uint32_t correlation;
    bool open;
  };
  std::vector<Timed> timed;
};

/// Where one thread's records go. Its lock is held while the client is asked for a buffer, as CUPTI holds one of its
/// own.
struct ThreadBuffer {
  std::mutex mutex;
  std::unique_ptr<Buffer> current;
  std::vector<std::unique_ptr<Buffer>> full;
};

struct Device {
  std::uint32_t id;
  std::string name;
};
struct Context {
  std::uint32_t id;
  std::uint32_t device;
};
struct Stream {
  std::uint32_t context;
  std::uint32_t id;
  std::uint32_t priority;
  std::uint64_t free_at = 0;
};

/// The highest that a version knows.
struct Limits {
  CUpti_CallbackDomain domain;
  std::uint32_t driver_function;
  std::uint32_t runtime_function;
  std::uint32_t resource_callback;
  std::uint32_t attribute;
  std::uint32_t kind;
};
struct RecordBytes {
  CUpti_ActivityKind kind;
  std::uint32_t bytes;
};
struct Version {
  std::uint32_t api;
  Limits limits;
  std::set<std::string, std::less<>> absent;  // functions
  std::vector<RecordBytes> records;           // that are shorter than in the newest header
};

struct State {
  // Set by tests while nothing else runs, read everywhere.
  std::atomic<std::uint32_t> version{CUPTI_API_VERSION};
  Limits limits{};
  std::set<std::string, std::less<>> absent;
  std::atomic<bool> driver{true};
  std::atomic<std::uint32_t> correlation{1};
  std::atomic<std::uint64_t> launch_latency_ns{3000};
  std::atomic<bool> tells_destroyed_nodes{true};
  std::array<std::atomic<std::uint32_t>, 1024> record_bytes{};  // by kind; 0: as in the header

  // The clock.
  std::atomic<bool> manual{false};
  std::atomic<std::uint64_t> manual_ns{0};
  std::atomic<std::int64_t> step_ns{0};
  std::atomic<CUpti_TimestampCallbackFunc> timestamp{nullptr};

  // What the client asked for. Atomics, so that no lock of the fake orders the application's threads in its callbacks.
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  std::atomic<void*> user{nullptr};
  std::array<std::array<std::atomic<bool>, kCallbackIds>, 8> callback_on{};
  std::array<std::atomic<bool>, kKinds> kind_on{};
  std::atomic<bool> kernels_disabled{false};  // since they were enabled first
  std::atomic<bool> graph_ids_wrong{false};   // what CUPTI before 13.1 update 1 does from the second enabling on
  std::array<std::array<std::atomic<bool>, kCallbackIds>, 2> api_off{};  // driver, runtime
  std::atomic<CUpti_BuffersCallbackRequestFunc> request{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete{nullptr};
  std::atomic<bool> system_thread_ids{false};
  std::array<std::atomic<std::uint32_t>, 16> attributes{};

  // CUPTI's own lock: enabling, disabling, flushing, delivering. A call that hangs holds it.
  std::mutex library;
  std::atomic<bool> changing_callbacks{false};
  std::atomic<bool> finalized{false};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> out{0};
  FakeDelivery delivery = kFakeInOrder;          // under library
  std::vector<std::unique_ptr<Buffer>> held;     // under library
  std::uint32_t cut_bytes = 0;                   // under library
  std::pair<std::uint8_t*, std::size_t> last{};  // under library

  // The client in its callbacks, by FakeCallback.
  std::atomic<std::uint64_t (*)()> client_allocations{nullptr};
  struct Watched {
    std::atomic<std::uint64_t> callbacks{0}, allocations{0};
  };
  std::array<Watched, 5> watched{};

  // Everything else.
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::uint64_t, std::less<>> calls;
  std::map<std::string, int, std::less<>> failures;
  std::map<std::uint32_t, int> kind_failures;
  std::set<std::string, std::less<>> hanging;
  unsigned hanging_now = 0;
  std::string holder;
  std::string misuse;
  std::vector<std::unique_ptr<ThreadBuffer>> threads;
  std::vector<Device> devices;
  std::vector<Context> contexts;
  std::vector<Stream> streams;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> external;  // (tid, kind)

  // Hardware counters.
  std::atomic<const char*> chip{"GH100"};
  std::map<std::string, double, std::less<>> metric_values;  // under mutex
  std::set<std::string, std::less<>> forgotten_metrics;      // under mutex
  std::atomic<std::size_t> ranges_to_drop{0};
  std::atomic<bool> another_pass{false};
  std::atomic<bool> overflow_samples{false};
  std::atomic<std::size_t> profilers_open{0};
};

/// The present process; fakecupti_reset makes another.
State& state();
/// What tests leave behind is kept where a leak checker finds it.
void keep(const void* thing);
void let_go(const void* thing);
/// Counts processes, so that what a thread remembers of an older one is forgotten.
std::uint64_t generation();

// ---- versions --------------------------------------------------------------------------------------------------

void become(State& s, std::uint32_t api_version);
bool has(const State& s, std::string_view function);
bool has_callback(const State& s, CUpti_CallbackDomain domain, std::uint32_t id);

// ---- functions by name -----------------------------------------------------------------------------------------

struct Function {
  CUpti_CallbackDomain domain;
  std::uint32_t id;
};
/// A copy that lives as long as the process: records refer to their names.
const char* kept_name(const char* name);
Function find_function(std::string_view name);
const char* function_name(CUpti_CallbackDomain domain, std::uint32_t id);

// ---- the clock -------------------------------------------------------------------------------------------------

std::uint64_t device_now();                      // the device's clock
std::uint64_t stamp(std::uint64_t device_time);  // as a record shows it
void wait_until(std::uint64_t device_time);

// ---- entering CUPTI --------------------------------------------------------------------------------------------

void misuse(const std::string& what);
/// Counts the call, checks that it may be made, fails or hangs it as told. `needs_driver`: answers 999 without one.
CUptiResult enter(const char* function, bool needs_driver);

/// While the client's code runs on this thread.
class InClient {
 public:
  explicit InClient(FakeCallback callback);
  ~InClient();
  static bool here();

 private:
  FakeCallback callback_;
  std::uint64_t (*allocations_)();  // null: not watched
  std::uint64_t before_ = 0;
};

void fire(CUpti_CallbackDomain domain, std::uint32_t id, const void* data);

// ---- buffers ---------------------------------------------------------------------------------------------------

std::uint32_t thread_id();
/// Makes room for a record in the calling thread's buffer; false: dropped and counted.
bool append(const void* record, std::size_t bytes, std::uint64_t done_at = 0, std::uint32_t correlation = 0,
            bool open = false);
/// Hands out what is complete, or everything.
void flush(bool forced);
void deliver_held();
void complete_work(std::uint32_t correlation, std::uint64_t begin_ns, std::uint64_t end_ns);
std::size_t header_record_bytes(std::uint32_t kind);
std::size_t record_bytes(std::uint32_t kind);
void dump_objects(CUpti_ActivityKind kind);
void return_last_again();
void return_foreign();
void return_empty();
void give_up_open_work();

}  // namespace fake
