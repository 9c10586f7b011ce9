// SPDX-License-Identifier: MIT
#include "exporter/chrome/clean_json.hpp"
#include "exporter/perfetto/trace_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

namespace rangefinder::perfetto {
namespace {

using chrome::RawMember;
using protozero::pbf_writer;

/// Of a kernel whose launch is known in numbers: the same as text, of an imported trace.
bool is_of_launch(std::string_view key) noexcept {
  constexpr std::string_view kKeys[] = {"grid",          "block",         "cluster",     "registers per thread",
                                        "shared memory", "blocks per SM", "warps per SM"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

TraceWriter::Key TraceWriter::key_of(std::string_view text) {
  RecentKey& recent = recent_keys_[(reinterpret_cast<std::uintptr_t>(text.data()) >> 2) % recent_keys_.size()];
  if (recent.at == text.data() && recent.text == text) return recent.key;
  Key key;
  key.id = keys_.intern(text);
  if (text == "correlation") key.fact = Fact::kCorrelation;
  if (text == "External id" || text == "cbid") key.fact = Fact::kOfRange;
  if (text == "context") key.fact = Fact::kContext;
  if (text == "device" || text == "stream" || text == "queued") key.fact = Fact::kOfRow;
  if (is_of_launch(text)) key.fact = Fact::kOfLaunch;
  recent = {text.data(), keys_.text(key.id), key};
  return key;
}

bool TraceWriter::take_fact(Fact fact, std::uint64_t value) {
  switch (fact) {
    case Fact::kCorrelation:
      if (event_.head->phase == kSlice) event_.correlation = value;  // an arrow has its own number there
      return event_.is_stage;
    case Fact::kOfRange:
      // What JSON joins by External id, calls inside of their ranges and correlations say here; a call is known by its
      // name.
      return api_calls_;
    case Fact::kContext:
      if (!event_.is_stage || value > kMostContext) return false;
      event_.context = static_cast<std::uint16_t>(value);
      return true;
    case Fact::kOfRow:
      // "queued" is torch.profiler's, and always 0.
      return event_.is_stage;
    case Fact::kNone:
    case Fact::kOfLaunch:
      break;
  }
  return false;
}

template <typename Put>
void TraceWriter::annotate(const Key& key, Put put) {
  constexpr std::size_t kMostBytes = 6 * kMaxNumberBytes;
  char message[kMostBytes], field[kMostBytes + kMaxNumberBytes];
  uses_.push_back(key.id << 1);
  char* const end = put(put_number(message, annotation::kNameIid, std::uint64_t{key.id} + 1));
  const auto bytes = static_cast<std::size_t>(end - message);
  char* const at = put_length(field, track_event::kDebugAnnotations, bytes);
  std::memcpy(at, message, bytes);
  arguments_.append(field, static_cast<std::size_t>(at - field) + bytes);
}

void TraceWriter::argument(std::string_view text, std::uint64_t value) {
  if (event_.row == nullptr) return;
  const Key key = key_of(text);
  if (take_fact(key.fact, value)) return;
  if (open_.is_sample && value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return signed_argument(text, static_cast<std::int64_t>(value));
  if (event_.is_stage) return add_extra(text, std::to_string(value));
  annotate(key, [&](char* at) { return put_number(at, annotation::kUnsigned, value); });
}

void TraceWriter::signed_argument(std::string_view text, std::int64_t value) {
  if (event_.row == nullptr) return;
  if (open_.is_sample) {
    open_.is_integer = true;
    open_.integer = value;
    return;
  }
  const Key key = key_of(text);
  if (value >= 0 && take_fact(key.fact, static_cast<std::uint64_t>(value))) return;
  if (event_.is_stage && key.fact == Fact::kOfRow) return;
  if (event_.is_stage) return add_extra(text, std::to_string(value));
  annotate(key, [&](char* at) { return put_number(at, annotation::kSigned, static_cast<std::uint64_t>(value)); });
}

void TraceWriter::double_argument(std::string_view text, double value) {
  if (event_.row == nullptr) return;
  if (open_.is_sample) {
    open_.is_integer = false;
    open_.number = value;
    return;
  }
  if (event_.is_stage) return add_extra(text, shortest(value));
  annotate(key_of(text), [&](char* at) { return put_double(at, annotation::kDouble, value); });
}

void TraceWriter::text_argument(std::string_view key, std::string_view text) {
  if (event_.row == nullptr || open_.is_sample) return;
  if (event_.is_stage) return add_extra(key, text);
  begin_annotation(key_of(key));
  add_annotation_text(text);
  end_annotation();
}

void TraceWriter::triple_argument(std::string_view key, const std::uint32_t (&values)[3]) {
  if (event_.row == nullptr || open_.is_sample) return;
  if (event_.is_stage) {
    return add_extra(key, "[" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
                              std::to_string(values[2]) + "]");
  }
  annotate(key_of(key), [&](char* at) {
    constexpr std::size_t kTag = 1;
    for (const std::uint32_t value : values) {
      at = put_length(at, annotation::kArrayValues, kTag + varint_bytes(value));
      at = put_number(at, annotation::kUnsigned, value);
    }
    return at;
  });
}

void TraceWriter::raw_argument(std::string_view key, std::string_view json) {
  if (event_.row == nullptr || json.empty()) return;
  if (json.front() == '"') return text_argument(key, chrome::text_of(json));
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  const char* const end = json.data() + json.size();
  if (const auto read = std::from_chars(json.data(), end, natural); read.ec == std::errc() && read.ptr == end)
    return argument(key, natural);
  if (const auto read = std::from_chars(json.data(), end, integer); read.ec == std::errc() && read.ptr == end)
    return signed_argument(key, integer);
  double number = 0;
  if (const auto read = std::from_chars(json.data(), end, number); read.ec == std::errc() && read.ptr == end)
    return double_argument(key, number);
  if (open_.is_sample) return;
  if (event_.is_stage) return add_extra(key, json);
  begin_annotation(key_of(key));
  if (json == "true" || json == "false")
    pbf_writer(annotation_).add_bool(annotation::kBool, json == "true");
  else
    add_annotation_text(json);
  end_annotation();
}

void TraceWriter::arguments(std::string_view members) {
  if (event_.row == nullptr) return;
  std::vector<RawMember> each;
  const std::string object = "{" + std::string(members) + "}";
  if (!chrome::split_object(object, each)) return;
  for (const RawMember& member : each) {
    if (open_.detail == nullptr || !is_of_launch(member.key)) raw_argument(member.key, member.value);
  }
}

bool TraceWriter::kernel(const DeviceInfo& device, const KernelDetail& detail) {
  if (event_.row == nullptr) return true;
  if (!event_.is_stage) return false;
  open_.device = &device;
  open_.detail = &detail;
  return true;
}

void TraceWriter::begin_annotation(const Key& key) {
  uses_.push_back(key.id << 1);
  annotation_.clear();
  pbf_writer(annotation_).add_uint64(annotation::kNameIid, std::uint64_t{key.id} + 1);
}

/// Shapes and kinds come again and again, numbers of batches do not: a text is introduced when it comes for the second
/// time.
void TraceWriter::add_annotation_text(std::string_view text) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 25;  // of all
  const std::uint32_t id = texts_.find(text);
  if (id == base::StringPool::kAbsent) {
    if (texts_.memory_bytes() + text.size() <= kMostBytes) texts_.intern(text);
    return add_text(annotation_, annotation::kString, text);
  }
  uses_.push_back(id << 1 | 1);
  pbf_writer(annotation_).add_uint64(annotation::kStringIid, std::uint64_t{id} + 1);
}

void TraceWriter::add_extra(std::string_view key, std::string_view value) {
  scratch_.clear();
  add_text(scratch_, stage::kExtraName, key);
  add_text(scratch_, stage::kExtraValue, value);
  add_message(arguments_, stage::kExtraData, scratch_);
}

}  // namespace rangefinder::perfetto
