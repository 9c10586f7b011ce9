// SPDX-License-Identifier: MIT
#include "bench/tensor_file.hpp"

#include "base/file.hpp"
#include "bench/comparison.hpp"
#include "bench/json.hpp"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <optional>

// Without hints: at -Og GCC cannot inline what xxHash calls through a pointer, and takes the hint for an order.
#define XXH_INLINE_ALL
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

namespace rangefinder::bench {
namespace {

base::ByteView bytes_of(const TensorView& tensor, std::uint64_t count) {
  return {static_cast<const std::byte*>(tensor.data), count * size_of(tensor.type)};
}

Json description(const TensorView& tensor) {
  Json shape = Json::array();
  for (const std::int64_t extent : tensor.shape) shape.push_back(extent);
  return Json::object({{"name", tensor.name}, {"type", to_string(tensor.type)}, {"shape", std::move(shape)}});
}

bool type_named(const std::string& name, ElementType& type) {
  for (int i = 0; i <= static_cast<int>(ElementType::kFloat64); ++i) {
    type = static_cast<ElementType>(i);
    if (to_string(type) == name) return true;
  }
  return false;
}

/// The first line without its end; none where the file has none. Gigabytes may follow it.
Result<std::optional<std::string>> first_line(base::InputFile& file) {
  for (std::size_t count = std::size_t{1} << 16;; count *= 2) {
    const Result<base::ByteView> front = file.read(0, count);
    if (!front) return front.error();
    const std::string_view text = base::as_text(*front);
    if (const std::size_t end = text.find('\n'); end != text.npos)
      return std::optional(std::string(text.substr(0, end)));
    if (text.size() == file.size()) return std::optional<std::string>();
  }
}

}  // namespace

std::uint64_t byte_count(const std::vector<TensorView>& tensors) {
  std::uint64_t bytes = 0;
  for (const TensorView& tensor : tensors) {
    if (const Result<std::uint64_t> count = element_count(tensor); count) bytes += *count * size_of(tensor.type);
  }
  return bytes;
}

Status write_tensors(const std::vector<TensorView>& tensors, const std::string& path) {
  Result<base::AtomicFile> file = base::AtomicFile::create(path, true);
  if (!file) return file.error();
  Json list = Json::array();
  for (const TensorView& tensor : tensors) list.push_back(description(tensor));
  if (Status status = file->write(json_line(list) + "\n"); !status.ok()) return status;
  for (const TensorView& tensor : tensors) {
    const Result<std::uint64_t> count = element_count(tensor);
    if (!count) return count.error();
    if (*count == 0) continue;
    if (Status status = file->write(bytes_of(tensor, *count)); !status.ok()) return status;
  }
  return file->commit();
}

Result<TensorFile> TensorFile::open(const std::string& path) {
  TensorFile file;
  Result<base::InputFile> input = base::InputFile::open(path);
  if (!input) return input.error();
  const auto wrong = [&](const std::string& what) { return Error{ErrorCode::kUnreadable, path + ": " + what}; };
  const Result<std::optional<std::string>> line = first_line(*input);
  if (!line) return line.error();
  if (!line->has_value()) return wrong("no line of tensors at its front");
  const Result<Json> list = parse_json(**line);
  if (!list) return list.error().with_context(path);
  const std::uint64_t begin = (*line)->size() + 1, size = input->size() - begin;
  file.bytes_.reset(new (std::nothrow) std::byte[size]);
  if (file.bytes_ == nullptr) return Error{ErrorCode::kTooLarge, fmt::format("{}: no memory for {} bytes", path, size)};
  std::uint64_t at = 0;
  for (const JsonView item : JsonView(*list).items()) {
    TensorView tensor;
    tensor.name = item["name"].text();
    if (!type_named(item["type"].text(), tensor.type)) return wrong("unknown type " + item["type"].text());
    for (const JsonView extent : item["shape"].items()) tensor.shape.push_back(extent.integer(-1));
    const Result<std::uint64_t> count = element_count(tensor);
    if (!count) return count.error().with_context(path);
    const std::uint64_t bytes = *count * size_of(tensor.type);
    if (bytes > size - at) return wrong(fmt::format("tensor \"{}\" ends behind the file", tensor.name));
    tensor.data = file.bytes_.get() + at;
    at += bytes;
    file.tensors_.push_back(std::move(tensor));
  }
  if (at != size) return wrong(fmt::format("{} bytes behind the last tensor", size - at));
  if (Status status = input->read_into(begin, {file.bytes_.get(), size}); !status.ok()) return status.error();
  return file;
}

std::string fingerprint(const std::vector<TensorView>& tensors) {
  const auto state = std::make_unique<XXH3_state_t>();  // GCC's AddressSanitizer aligns it to less on the stack
  XXH3_INITSTATE(state.get());
  XXH3_128bits_reset(state.get());
  for (const TensorView& tensor : tensors) {
    const std::string header = json_line(description(tensor));
    XXH3_128bits_update(state.get(), header.data(), header.size());
    const Result<std::uint64_t> count = element_count(tensor);
    if (count && *count != 0) XXH3_128bits_update(state.get(), tensor.data, *count * size_of(tensor.type));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace rangefinder::bench
