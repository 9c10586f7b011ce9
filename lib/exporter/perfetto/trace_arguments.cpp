// SPDX-License-Identifier: MIT
#include "exporter/chrome/clean_json.hpp"
#include "exporter/perfetto/trace_writer.hpp"

#include <algorithm>
#include <charconv>
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

bool TraceWriter::take_fact(std::string_view key, std::uint64_t value) {
  if (key == "correlation") {
    event_.correlation = value;
    return event_.is_stage;
  }
  // What JSON joins by External id, calls inside of their ranges and correlations say here; a call is known by its
  // name.
  if (api_calls_ && (key == "External id" || key == "cbid")) return true;
  if (!event_.is_stage) return false;
  if (key == "context") {
    if (value > kMostContext) return false;
    event_.context = value;
    return true;
  }
  // The GPU and the queue are the row; "queued" is torch.profiler's, and always 0.
  return key == "device" || key == "stream" || key == "queued";
}

void TraceWriter::argument(std::string_view key, std::uint64_t value) {
  if (event_.row == nullptr || take_fact(key, value)) return;
  if (event_.is_sample && value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return signed_argument(key, static_cast<std::int64_t>(value));
  if (event_.is_stage) return add_extra(key, std::to_string(value));
  begin_annotation(key);
  pbf_writer(annotation_).add_uint64(annotation::kUnsigned, value);
  end_annotation();
}

void TraceWriter::signed_argument(std::string_view key, std::int64_t value) {
  if (event_.row == nullptr) return;
  if (event_.is_sample) {
    event_.is_integer = true;
    event_.integer = value;
    return;
  }
  if (value >= 0 && take_fact(key, static_cast<std::uint64_t>(value))) return;
  if (event_.is_stage && (key == "stream" || key == "queued")) return;
  if (event_.is_stage) return add_extra(key, std::to_string(value));
  begin_annotation(key);
  pbf_writer(annotation_).add_int64(annotation::kSigned, value);
  end_annotation();
}

void TraceWriter::double_argument(std::string_view key, double value) {
  if (event_.row == nullptr) return;
  if (event_.is_sample) {
    event_.is_integer = false;
    event_.number = value;
    return;
  }
  if (event_.is_stage) return add_extra(key, shortest(value));
  begin_annotation(key);
  pbf_writer(annotation_).add_double(annotation::kDouble, value);
  end_annotation();
}

void TraceWriter::text_argument(std::string_view key, std::string_view text) {
  if (event_.row == nullptr || event_.is_sample) return;
  if (event_.is_stage) return add_extra(key, text);
  begin_annotation(key);
  add_annotation_text(text);
  end_annotation();
}

void TraceWriter::triple_argument(std::string_view key, const std::uint32_t (&values)[3]) {
  if (event_.row == nullptr || event_.is_sample) return;
  if (event_.is_stage) {
    return add_extra(key, "[" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
                              std::to_string(values[2]) + "]");
  }
  begin_annotation(key);
  for (const std::uint32_t value : values) {
    scratch_.clear();
    pbf_writer(scratch_).add_uint64(annotation::kUnsigned, value);
    add_message(annotation_, annotation::kArrayValues, scratch_);
  }
  end_annotation();
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
  if (event_.is_sample) return;
  if (event_.is_stage) return add_extra(key, json);
  begin_annotation(key);
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
    if (event_.detail == nullptr || !is_of_launch(member.key)) raw_argument(member.key, member.value);
  }
}

bool TraceWriter::kernel(const DeviceInfo& device, const KernelDetail& detail) {
  if (event_.row == nullptr) return true;
  if (!event_.is_stage) return false;
  event_.device = &device;
  event_.detail = &detail;
  return true;
}

void TraceWriter::begin_annotation(std::string_view key) {
  const std::uint32_t id = keys_.intern(key);
  uses_.push_back(id << 1);
  annotation_.clear();
  pbf_writer(annotation_).add_uint64(annotation::kNameIid, std::uint64_t{id} + 1);
}

/// Shapes and kinds come again and again, numbers of batches do not: a text is introduced when it comes for the second
/// time.
void TraceWriter::add_annotation_text(std::string_view text) {
  constexpr std::uint32_t kMostTexts = std::uint32_t{1} << 16;
  constexpr std::size_t kMostBytes = 1024;
  const std::uint32_t id = texts_.find(text);
  if (id == base::StringPool::kAbsent) {
    if (texts_.size() < kMostTexts && text.size() <= kMostBytes) texts_.intern(text);
    return add_text(annotation_, annotation::kString, text);
  }
  uses_.push_back(id << 1 | 1);
  pbf_writer(annotation_).add_uint64(annotation::kStringIid, std::uint64_t{id} + 1);
}

void TraceWriter::introduce_uses() {
  for (std::size_t i = 0; i < event_.uses_size; ++i) {
    const std::uint32_t use = uses_[event_.uses_at + i], id = use >> 1;
    const std::uint64_t iid = std::uint64_t{id} + 1;
    if (use % 2 == 0) {
      if (event_.sequence->keys.add(id)) introduce(interned::kAnnotationNames, iid, keys_.text(id));
    } else if (event_.sequence->texts.add(id)) {
      introduce(interned::kAnnotationTexts, iid, texts_.text(id));
    }
  }
}

void TraceWriter::add_extra(std::string_view key, std::string_view value) {
  scratch_.clear();
  add_text(scratch_, stage::kExtraName, key);
  add_text(scratch_, stage::kExtraValue, value);
  add_message(arguments_, stage::kExtraData, scratch_);
}

}  // namespace rangefinder::perfetto
