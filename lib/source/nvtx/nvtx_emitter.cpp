// SPDX-License-Identifier: MIT
#include "source/nvtx/nvtx_emitter.hpp"

#include "base/never_destroyed.hpp"
#include "base/other_tools.hpp"
#include "buffer/listener.hpp"
#include "buffer/name_table.hpp"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <unordered_map>

namespace rangefinder::source {
namespace {

using detail::Extra;
using detail::ExtraKind;

/// What the tool gave us for our names, so that a range costs it no string.
class Handles {
 public:
  Handles() {
    domain_ = ::nvtxDomainCreateA("rangefinder");
    constexpr std::size_t bytes =
        (buffer::NameTable::kMaxNames + buffer::NameTable::kReservedNames + 1) * sizeof(void*);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    strings_ = memory == MAP_FAILED ? nullptr : static_cast<std::atomic<nvtxStringHandle_t>*>(memory);
  }

  nvtxDomainHandle_t domain() const noexcept { return domain_; }

  nvtxStringHandle_t string(std::uint32_t name) noexcept try {
    if (strings_ == nullptr) return nullptr;
    nvtxStringHandle_t handle = strings_[name].load(std::memory_order_acquire);
    if (handle != nullptr) return handle;
    const std::string text = name == 0 ? "(unnamed)" : std::string(buffer::names().text(name));
    // Two threads may register the same text; the tool gives both the same meaning.
    handle = ::nvtxDomainRegisterStringA(domain_, text.c_str());
    strings_[name].store(handle, std::memory_order_release);
    return handle;
  } catch (const std::exception&) {  // no memory: this once without a name
    return nullptr;
  }

  void name_category(std::uint32_t category) noexcept try {
    if (category == 0 || category >= kCategories || named_[category].exchange(true, std::memory_order_relaxed)) return;
    ::nvtxDomainNameCategoryA(domain_, category, std::string(buffer::categories().text(category)).c_str());
  } catch (const std::exception&) {  // no memory: the tool knows it by its number
  }

  std::mutex mutex;
  std::unordered_map<std::uint64_t, nvtxRangeId_t> open;  // start/end ranges by our handle

 private:
  static constexpr std::size_t kCategories = 1024;
  nvtxDomainHandle_t domain_ = nullptr;
  std::atomic<nvtxStringHandle_t>* strings_ = nullptr;
  std::atomic<bool> named_[kCategories] = {};
};

// Ranges run until the last instruction of the process.
Handles& handles() noexcept {
  static base::NeverDestroyed<Handles> instance;
  return *instance;
}

/// A child finds the mutex free; ranges that are open in the parent are not the child's to end.
void watch_forks() noexcept {
  static const int registered = ::pthread_atfork([] { handles().mutex.lock(); }, [] { handles().mutex.unlock(); },
                                                 [] {
                                                   handles().open.clear();
                                                   handles().mutex.unlock();
                                                 });
  (void)registered;
}

nvtxEventAttributes_t attributes(std::uint32_t name, std::uint32_t category, const Extra* extra) noexcept {
  handles().name_category(category);
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = category;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = handles().string(name);
  if (extra == nullptr) return event;
  switch (extra->kind) {
    case ExtraKind::kUnsigned:
      event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
      event.payload.ullValue = extra->bits;
      break;
    case ExtraKind::kSigned:
      event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
      event.payload.llValue = static_cast<std::int64_t>(extra->bits);
      break;
    case ExtraKind::kDouble:
      event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
      std::memcpy(&event.payload.dValue, &extra->bits, sizeof event.payload.dValue);
      break;
    case ExtraKind::kText:
      break;  // NVTX has no payload for it outside of schemas
  }
  return event;
}

void begin(std::uint32_t name, std::uint32_t category, const Extra* extra) noexcept {
  const nvtxEventAttributes_t event = attributes(name, category, extra);
  ::nvtxDomainRangePushEx(handles().domain(), &event);
}

void end() noexcept { ::nvtxDomainRangePop(handles().domain()); }

void mark(std::uint32_t name, std::uint32_t category, const Extra* extra) noexcept {
  const nvtxEventAttributes_t event = attributes(name, category, extra);
  ::nvtxDomainMarkEx(handles().domain(), &event);
}

void async_begin(std::uint32_t name, std::uint32_t category, std::uint64_t handle) noexcept {
  const nvtxEventAttributes_t event = attributes(name, category, nullptr);
  const nvtxRangeId_t id = ::nvtxDomainRangeStartEx(handles().domain(), &event);
  try {
    const std::lock_guard lock(handles().mutex);
    handles().open[handle] = id;
  } catch (const std::exception&) {  // no memory: it could not be found to end it
    ::nvtxDomainRangeEnd(handles().domain(), id);
  }
}

void async_end(std::uint64_t handle) noexcept {
  nvtxRangeId_t id = 0;
  {
    const std::lock_guard lock(handles().mutex);
    const auto found = handles().open.find(handle);
    if (found == handles().open.end()) return;
    id = found->second;
    handles().open.erase(found);
  }
  ::nvtxDomainRangeEnd(handles().domain(), id);
}

constexpr buffer::Listener kEmitter{begin, end, mark, async_begin, async_end};

bool tool_is_present() noexcept {
  // A tool that is linked in fills this pointer (nvtx3/nvtxDetail/nvtxInit.h, "pre-injected library").
  if (InitializeInjectionNvtx2_fnptr != nullptr) return true;
  // Under `rangefinder record` we are the tool, and have these ranges already.
  return !base::other_library("NVTX_INJECTION64_PATH").empty();
}

}  // namespace

bool emit_nvtx_if_heard() noexcept try {
  if (buffer::listener() != nullptr) return true;
  if (!tool_is_present()) return false;
  ::nvtxInitialize(nullptr);
  handles();
  watch_forks();
  buffer::set_listener(&kEmitter);
  return true;
} catch (const std::exception&) {  // no memory
  return false;
}

namespace {
// A program under nsys shows its ranges there whether or not it ever starts a session.
[[gnu::constructor]] void on_load() { emit_nvtx_if_heard(); }
}  // namespace

}  // namespace rangefinder::source
