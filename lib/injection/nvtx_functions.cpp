// SPDX-License-Identifier: MIT
// What a program's NVTX calls do while it is recorded. None throws or prints, nor allocates after a thread's first
// range, but for wide texts of more than 256 characters.
#include "injection/nvtx_functions.hpp"

#include "injection/injection.hpp"
#include "injection/nvtx_domain.hpp"
#include "injection/nvtx_stack.hpp"
#include "injection/payload_text.hpp"
#include "injection/settings.hpp"

#include <rangefinder/detail/nvtx.hpp>
#include <rangefinder/detail/operators.hpp>
#include <rangefinder/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cwchar>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

namespace rangefinder::injection {
namespace {

using detail::Extra;
using detail::ExtraKind;
using std::string_view;

string_view text_or_empty(const char* text) noexcept { return text != nullptr ? string_view(text) : string_view(); }

/// A wide text as UTF-8. What is longer than names are kept is cut with them, and counted.
class Narrowed {
 public:
  explicit Narrowed(const wchar_t* wide) noexcept {
    if (wide == nullptr) return;
    std::size_t room = sizeof short_;
    if (const std::size_t most = std::wcslen(wide) * kMaxBytes; most > room) {
      long_.reset(new (std::nothrow) char[most]);
      if (long_ != nullptr) text_ = long_.get(), room = most;  // else there is no memory, and it is cut
    }
    for (; *wide != 0 && size_ + kMaxBytes <= room; ++wide) put(static_cast<std::uint32_t>(*wide));
  }
  Narrowed(const Narrowed&) = delete;
  Narrowed& operator=(const Narrowed&) = delete;

  string_view text() const noexcept { return {text_, size_}; }

 private:
  void put(std::uint32_t point) noexcept {
    if (point < 0x80) return byte(point);
    if (point < 0x800) return byte(0xC0 | point >> 6), rest(point, 0);
    if (point > 0x10FFFF) point = 0xFFFD;
    if (point < 0x10000) return byte(0xE0 | point >> 12), rest(point, 6), rest(point, 0);
    byte(0xF0 | point >> 18), rest(point, 12), rest(point, 6), rest(point, 0);
  }
  void byte(std::uint32_t value) noexcept { text_[size_++] = static_cast<char>(value); }
  void rest(std::uint32_t point, unsigned shift) noexcept { byte(0x80 | (point >> shift & 0x3F)); }

  static constexpr std::size_t kMaxBytes = 4;  // of a character

  char short_[1024];
  std::unique_ptr<char[]> long_;
  char* text_ = short_;
  std::size_t size_ = 0;
};

bool is_wanted(const Domain& domain) noexcept {
  return detail::active.load(std::memory_order_relaxed) != 0 && domain.recorded();
}

/// What an event's attributes say; a program may have been built with fewer of them.
class Event {
 public:
  Event(Domain& domain, const nvtxEventAttributes_t* attributes) noexcept {
    const auto has = [&](std::size_t offset, std::size_t bytes) {
      return attributes != nullptr && attributes->size >= offset + bytes;
    };
#define RANGEFINDER_HAS(member) has(offsetof(nvtxEventAttributes_t, member), sizeof attributes->member)
    category_ = domain.category(RANGEFINDER_HAS(category) ? attributes->category : 0);
    if (RANGEFINDER_HAS(color) && attributes->colorType == NVTX_COLOR_ARGB)
      category_ = detail::coloured_category(category_, attributes->color);
    if (RANGEFINDER_HAS(payload) && is_wanted(domain)) take_payload(domain, *attributes);
    if (RANGEFINDER_HAS(message)) take_message(*attributes);
#undef RANGEFINDER_HAS
  }

  /// All that is said of it stands in its payloads.
  Event(Domain& domain, const nvtxPayloadData_t* payloads, std::size_t count) noexcept : category_(domain.category(0)) {
    if (!is_wanted(domain)) return;
    take(payload_.emplace(domain, payloads, count));
    text_ = payload_->message();
  }

  string_view text() const noexcept { return text_; }
  std::uint32_t name() const noexcept { return name_; }  ///< 0: known by its text only
  std::uint32_t category() const noexcept { return category_; }
  const Extra* extra() const noexcept { return extra_ ? &*extra_ : nullptr; }

 private:
  void take_message(const nvtxEventAttributes_t& attributes) noexcept {
    switch (attributes.messageType) {
      case NVTX_MESSAGE_TYPE_ASCII:
        text_ = text_or_empty(attributes.message.ascii);
        return;
      case NVTX_MESSAGE_TYPE_UNICODE:
        text_ = narrowed_.emplace(attributes.message.unicode).text();
        return;
      case NVTX_MESSAGE_TYPE_REGISTERED:
        if (const auto* string = reinterpret_cast<const RegisteredString*>(attributes.message.registered)) {
          text_ = string->text;
          name_ = string->name;
        }
        return;
      default:
        return;
    }
  }

  void take(const PayloadText& payload) noexcept {
    if (!payload.text().empty()) extra_ = Extra{ExtraKind::kText, 0, payload.text()};
  }
  void take_payload(const Domain& domain, const nvtxEventAttributes_t& attributes) noexcept {
    const auto& payload = attributes.payload;
    switch (attributes.payloadType) {
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        return keep(ExtraKind::kUnsigned, payload.ullValue);
      case NVTX_PAYLOAD_TYPE_INT64:
        return keep(ExtraKind::kSigned, static_cast<std::uint64_t>(payload.llValue));
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        return keep(ExtraKind::kUnsigned, payload.uiValue);
      case NVTX_PAYLOAD_TYPE_INT32:
        return keep(ExtraKind::kSigned, static_cast<std::uint64_t>(std::int64_t{payload.iValue}));
      case NVTX_PAYLOAD_TYPE_DOUBLE:
        return keep(payload.dValue);
      case NVTX_PAYLOAD_TYPE_FLOAT:
        return keep(static_cast<double>(payload.fValue));
      case NVTX_PAYLOAD_TYPE_EXT:
        return take(payload_.emplace(domain, reinterpret_cast<const nvtxPayloadData_t*>(payload.ullValue),
                                     static_cast<std::size_t>(std::max(attributes.reserved0, 0))));
      default:
        return;
    }
  }
  void keep(ExtraKind kind, std::uint64_t bits) noexcept { extra_ = Extra{kind, bits, {}}; }
  void keep(double value) noexcept {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    keep(ExtraKind::kDouble, bits);
  }

  string_view text_;
  std::uint32_t name_ = 0;
  std::uint32_t category_ = 0;
  std::optional<Extra> extra_;
  std::optional<PayloadText> payload_;
  std::optional<Narrowed> narrowed_;
};

Domain& domain_of(nvtxDomainHandle_t handle) noexcept {
  return handle != nullptr ? *reinterpret_cast<Domain*>(handle) : Domain::unnamed();
}

/// Of a call that records.
Domain& marked(nvtxDomainHandle_t handle = nullptr) noexcept {
  start_in_child();
  Domain& domain = domain_of(handle);
  domain.note_use();
  return domain;
}

// ---- what all spellings of a call come down to -------------------------------------------------------------------

/// A push that there is no place for.
void count_lost(const Domain& domain) noexcept {
  if (is_wanted(domain)) detail::count_lost_operator();  // a dropped range, as those are
}

int push_text(Domain& domain, string_view text, std::uint32_t category) noexcept {
  Push push(&domain);
  if (is_step_range(text)) push.set_step();
  detail::OpenRange* const place = push.place();
  if (place == nullptr)
    count_lost(domain);
  else if (domain.recorded())
    place->token = detail::begin_text(text.data(), text.size(), category, place->word);
  return push.depth();
}

int push_event(Domain& domain, const Event& event) noexcept {
  if (event.extra() == nullptr && event.name() == 0) return push_text(domain, event.text(), event.category());
  Push push(&domain);
  if (is_step_range(event.text())) push.set_step();
  detail::OpenRange* const place = push.place();
  if (place == nullptr) count_lost(domain);
  if (place == nullptr || !domain.recorded() || detail::active.load(std::memory_order_relaxed) == 0)
    return push.depth();
  if (event.extra() != nullptr) {
    place->token = detail::begin_text_with(event.text().data(), event.text().size(), event.category(), *event.extra(),
                                           place->word);
  } else {
    place->word = detail::make_word(detail::RecordKind::kBegin, event.name(), event.category());
    place->token = detail::begin_word(place->word);
  }
  return push.depth();
}

void mark_event(const Domain& domain, string_view text, std::uint32_t category, const Extra* extra) noexcept {
  if (is_wanted(domain)) detail::mark_slow(text, category, extra);
}

nvtxRangeId_t start_range(const Domain& domain, string_view text, std::uint32_t category,
                          const Extra* extra = nullptr) noexcept {
  return is_wanted(domain) ? detail::async_begin_extra(text, category, extra) : 0;
}

nvtxStringHandle_t registered(string_view text) noexcept {
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<RegisteredString*>(RegisteredString::of(text)));
}

nvtxDomainHandle_t created(string_view name) noexcept {
  return reinterpret_cast<nvtxDomainHandle_t>(Domain::named(name));
}

// ---- NVTX's functions, by their names there ----------------------------------------------------------------------

int NVTX_API DomainRangePushEx(nvtxDomainHandle_t handle, const nvtxEventAttributes_t* attributes) noexcept {
  Domain& domain = marked(handle);
  return push_event(domain, Event(domain, attributes));
}
int NVTX_API DomainRangePop(nvtxDomainHandle_t handle) noexcept { return pop(&domain_of(handle)); }
int NVTX_API RangePushEx(const nvtxEventAttributes_t* attributes) noexcept {
  return DomainRangePushEx(nullptr, attributes);
}
int NVTX_API RangePushA(const char* text) noexcept { return push_text(marked(), text_or_empty(text), 0); }
int NVTX_API RangePushW(const wchar_t* text) noexcept { return push_text(marked(), Narrowed(text).text(), 0); }
int NVTX_API RangePop() noexcept { return pop(&Domain::unnamed()); }

void NVTX_API DomainMarkEx(nvtxDomainHandle_t handle, const nvtxEventAttributes_t* attributes) noexcept {
  Domain& domain = marked(handle);
  const Event event(domain, attributes);
  mark_event(domain, event.text(), event.category(), event.extra());
}
void NVTX_API MarkEx(const nvtxEventAttributes_t* attributes) noexcept { DomainMarkEx(nullptr, attributes); }
void NVTX_API MarkA(const char* text) noexcept { mark_event(marked(), text_or_empty(text), 0, nullptr); }
void NVTX_API MarkW(const wchar_t* text) noexcept { mark_event(marked(), Narrowed(text).text(), 0, nullptr); }

nvtxRangeId_t NVTX_API DomainRangeStartEx(nvtxDomainHandle_t handle, const nvtxEventAttributes_t* attributes) noexcept {
  Domain& domain = marked(handle);
  const Event event(domain, attributes);
  return start_range(domain, event.text(), event.category(), event.extra());
}
nvtxRangeId_t NVTX_API RangeStartEx(const nvtxEventAttributes_t* attributes) noexcept {
  return DomainRangeStartEx(nullptr, attributes);
}
nvtxRangeId_t NVTX_API RangeStartA(const char* text) noexcept { return start_range(marked(), text_or_empty(text), 0); }
nvtxRangeId_t NVTX_API RangeStartW(const wchar_t* text) noexcept {
  return start_range(marked(), Narrowed(text).text(), 0);
}
void NVTX_API RangeEnd(nvtxRangeId_t id) noexcept {
  if (id != 0) detail::async_end_slow(id);
}
void NVTX_API DomainRangeEnd(nvtxDomainHandle_t, nvtxRangeId_t id) noexcept { RangeEnd(id); }

void NVTX_API DomainNameCategoryA(nvtxDomainHandle_t handle, std::uint32_t number, const char* name) noexcept {
  domain_of(handle).name_category(number, text_or_empty(name));
}
void NVTX_API DomainNameCategoryW(nvtxDomainHandle_t handle, std::uint32_t number, const wchar_t* name) noexcept {
  domain_of(handle).name_category(number, Narrowed(name).text());
}
void NVTX_API NameCategoryA(std::uint32_t number, const char* name) noexcept {
  DomainNameCategoryA(nullptr, number, name);
}
void NVTX_API NameCategoryW(std::uint32_t number, const wchar_t* name) noexcept {
  DomainNameCategoryW(nullptr, number, name);
}

void NVTX_API NameOsThreadA(std::uint32_t tid, const char* name) noexcept {
  detail::name_thread(tid, text_or_empty(name));
}
void NVTX_API NameOsThreadW(std::uint32_t tid, const wchar_t* name) noexcept {
  detail::name_thread(tid, Narrowed(name).text());
}

nvtxStringHandle_t NVTX_API DomainRegisterStringA(nvtxDomainHandle_t, const char* text) noexcept {
  return registered(text_or_empty(text));
}
nvtxStringHandle_t NVTX_API DomainRegisterStringW(nvtxDomainHandle_t, const wchar_t* text) noexcept {
  return registered(Narrowed(text).text());
}
nvtxDomainHandle_t NVTX_API DomainCreateA(const char* name) noexcept { return created(text_or_empty(name)); }
nvtxDomainHandle_t NVTX_API DomainCreateW(const wchar_t* name) noexcept { return created(Narrowed(name).text()); }

// ---- those of the payload extension -------------------------------------------------------------------------------

std::uint64_t NVTX_API PayloadSchemaRegister(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t* given) noexcept {
  return given != nullptr ? register_schema(domain_of(handle), *given) : 0;
}
std::uint64_t NVTX_API PayloadEnumRegister(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t* given) noexcept {
  return given != nullptr ? register_enum(domain_of(handle), *given) : 0;
}
void NVTX_API MarkPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t* payloads, std::size_t count) noexcept {
  Domain& domain = marked(handle);
  const Event event(domain, payloads, count);
  mark_event(domain, event.text(), event.category(), event.extra());
}
int NVTX_API RangePushPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t* payloads,
                              std::size_t count) noexcept {
  Domain& domain = marked(handle);
  return push_event(domain, Event(domain, payloads, count));
}
int NVTX_API RangePopPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t*, std::size_t) noexcept {
  return DomainRangePop(handle);
}
nvtxRangeId_t NVTX_API RangeStartPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t* payloads,
                                         std::size_t count) noexcept {
  Domain& domain = marked(handle);
  const Event event(domain, payloads, count);
  return start_range(domain, event.text(), event.category(), event.extra());
}
void NVTX_API RangeEndPayload(nvtxDomainHandle_t, nvtxRangeId_t id, const nvtxPayloadData_t*, std::size_t) noexcept {
  RangeEnd(id);
}
std::uint8_t NVTX_API DomainIsEnabled(nvtxDomainHandle_t handle) noexcept {
  Domain& domain = domain_of(handle);
  domain.note_use();  // who is told no does not mark anything
  return domain.recorded();
}

/// The functions of one module, as a copy of NVTX lets us set them; a copy may know fewer than we do.
class Module {
 public:
  Module(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) noexcept {
    if (callbacks.GetModuleFunctionTable(module, &table_, &size_) == 0) size_ = 0;
  }
  bool known() const noexcept { return size_ != 0; }
  template <typename Function>
  void set(unsigned id, Function* function) const noexcept {
    if (id < size_ && table_[id] != nullptr) *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned size_ = 0;
};

}  // namespace

bool install(NvtxGetExportTableFunc_t get_export_table) noexcept {
  if (get_export_table == nullptr) return false;
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return false;
  const Module core(*callbacks, NVTX_CB_MODULE_CORE);
  const Module domains(*callbacks, NVTX_CB_MODULE_CORE2);
  if (!core.known()) return false;
#define RANGEFINDER_SET(name) core.set(NVTX_CBID_CORE_##name, name)
  RANGEFINDER_SET(MarkEx);
  RANGEFINDER_SET(MarkA);
  RANGEFINDER_SET(MarkW);
  RANGEFINDER_SET(RangeStartEx);
  RANGEFINDER_SET(RangeStartA);
  RANGEFINDER_SET(RangeStartW);
  RANGEFINDER_SET(RangeEnd);
  RANGEFINDER_SET(RangePushEx);
  RANGEFINDER_SET(RangePushA);
  RANGEFINDER_SET(RangePushW);
  RANGEFINDER_SET(RangePop);
  RANGEFINDER_SET(NameCategoryA);
  RANGEFINDER_SET(NameCategoryW);
  RANGEFINDER_SET(NameOsThreadA);
  RANGEFINDER_SET(NameOsThreadW);
#undef RANGEFINDER_SET
#define RANGEFINDER_SET(name) domains.set(NVTX_CBID_CORE2_##name, name)
  RANGEFINDER_SET(DomainMarkEx);
  RANGEFINDER_SET(DomainRangeStartEx);
  RANGEFINDER_SET(DomainRangeEnd);
  RANGEFINDER_SET(DomainRangePushEx);
  RANGEFINDER_SET(DomainRangePop);
  RANGEFINDER_SET(DomainNameCategoryA);
  RANGEFINDER_SET(DomainNameCategoryW);
  RANGEFINDER_SET(DomainRegisterStringA);
  RANGEFINDER_SET(DomainRegisterStringW);
  RANGEFINDER_SET(DomainCreateA);
  RANGEFINDER_SET(DomainCreateW);
#undef RANGEFINDER_SET
  return true;
}

bool install_extension(const nvtxExtModuleInfo_t* module) noexcept {
  constexpr std::uint16_t kPayloads = NVTX_EXT_PAYLOAD_MODULEID;
  if (module == nullptr || module->moduleId != kPayloads || module->segmentsCount == 0 || module->segments == nullptr)
    return false;
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  const auto set = [&](std::size_t id, auto* function) {
    if (id < segment.slotCount) segment.functionSlots[id] = reinterpret_cast<std::intptr_t>(function);
  };
#define RANGEFINDER_SET(name) set(NVTX3EXT_CBID_nvtx##name, name)
  RANGEFINDER_SET(PayloadSchemaRegister);
  RANGEFINDER_SET(PayloadEnumRegister);
  RANGEFINDER_SET(MarkPayload);
  RANGEFINDER_SET(RangePushPayload);
  RANGEFINDER_SET(RangePopPayload);
  RANGEFINDER_SET(RangeStartPayload);
  RANGEFINDER_SET(RangeEndPayload);
  RANGEFINDER_SET(DomainIsEnabled);
#undef RANGEFINDER_SET
  return true;
}

}  // namespace rangefinder::injection
