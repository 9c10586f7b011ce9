// SPDX-License-Identifier: MIT
#include "support/replay/nvtx_calls.hpp"

#include "injection/injection.hpp"
#include "injection/nvtx_functions.hpp"

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <stdexcept>

// What the injection asks of the library that it is part of elsewhere: the player has its own session.
namespace rangefinder::injection {

std::atomic<bool> is_new_child{false};
bool start() noexcept { return true; }
void look_for_cuda() noexcept {}
void end_step() noexcept {}

}  // namespace rangefinder::injection

namespace rangefinder::testing {
namespace {

int install_functions(NvtxGetExportTableFunc_t get_export_table) {
  return injection::install(get_export_table) ? 1 : 0;
}

/// NVTX looks for a tool at its first call.
void become_tool() {
  static const bool done = [] {
    ::InitializeInjectionNvtx2_fnptr = &install_functions;
    return ::nvtxRangePushA("") >= 0 && ::nvtxRangePop() >= 0;
  }();
  if (!done) throw std::runtime_error("another tool has the program's NVTX");
}

nvtxDomainHandle_t handle(void* domain) { return static_cast<nvtxDomainHandle_t>(domain); }

nvtxEventAttributes_t attributes_of(const RecordedText& text, void* registered) {
  nvtxEventAttributes_t made{};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.category = text.category;
  if (registered != nullptr) {
    made.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    made.message.registered = static_cast<nvtxStringHandle_t>(registered);
  } else {
    made.messageType = NVTX_MESSAGE_TYPE_ASCII;
    made.message.ascii = text.text.c_str();
  }
  if (const auto* natural = std::get_if<std::uint64_t>(&text.payload)) {
    made.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    made.payload.ullValue = *natural;
  } else if (const auto* integer = std::get_if<std::int64_t>(&text.payload)) {
    made.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    made.payload.llValue = *integer;
  } else if (const auto* real = std::get_if<double>(&text.payload)) {
    made.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    made.payload.dValue = *real;
  }
  return made;
}

bool is_plain(const RecordedText& text) {
  return text.domain.empty() && !text.registered && text.category == 0 && text.payload.index() == 0;
}

}  // namespace

void NvtxCalls::announce(const RecordedText& text) {
  become_tool();
  void*& domain = domains_[text.domain];
  if (domain == nullptr && !text.domain.empty()) domain = ::nvtxDomainCreateA(text.domain.c_str());
  if (!text.registered) return;
  void*& string = strings_[{text.domain, text.text}];
  if (string == nullptr) string = ::nvtxDomainRegisterStringA(handle(domain), text.text.c_str());
}

void* NvtxCalls::domain_of(const RecordedText& text) const { return domains_.at(text.domain); }

void NvtxCalls::push(const RecordedText& text) const {
  if (is_plain(text)) return (void)::nvtxRangePushA(text.text.c_str());
  const nvtxEventAttributes_t event =
      attributes_of(text, text.registered ? strings_.at({text.domain, text.text}) : nullptr);
  ::nvtxDomainRangePushEx(handle(domain_of(text)), &event);
}

void NvtxCalls::pop(const RecordedText& text) const {
  if (text.domain.empty()) return (void)::nvtxRangePop();
  ::nvtxDomainRangePop(handle(domain_of(text)));
}

std::uint64_t NvtxCalls::start(const RecordedText& text) const {
  if (is_plain(text)) return ::nvtxRangeStartA(text.text.c_str());
  const nvtxEventAttributes_t event =
      attributes_of(text, text.registered ? strings_.at({text.domain, text.text}) : nullptr);
  return ::nvtxDomainRangeStartEx(handle(domain_of(text)), &event);
}

void NvtxCalls::end(const RecordedText& text, std::uint64_t id) const {
  if (text.domain.empty()) return ::nvtxRangeEnd(id);
  ::nvtxDomainRangeEnd(handle(domain_of(text)), id);
}

void NvtxCalls::mark(const RecordedText& text) const {
  const nvtxEventAttributes_t event =
      attributes_of(text, text.registered ? strings_.at({text.domain, text.text}) : nullptr);
  ::nvtxDomainMarkEx(handle(domain_of(text)), &event);
}

}  // namespace rangefinder::testing
