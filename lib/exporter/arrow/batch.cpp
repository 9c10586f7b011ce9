// SPDX-License-Identifier: MIT
#include "exporter/arrow/batch.hpp"

#include "base/text.hpp"

#include <cerrno>
#include <cstring>
#include <limits>

namespace rangefinder::arrow {
namespace {

// ---- arrays ----------------------------------------------------------------------------------------------------

/// What an array points to. A consumer may move children and the dictionary out: their `release` is null then.
struct OwnedArray {
  std::vector<Buffer> buffers;
  std::vector<const void*> pointers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  ArrowArray dictionary{};

  OwnedArray() = default;
  OwnedArray(const OwnedArray&) = delete;
  OwnedArray& operator=(const OwnedArray&) = delete;
  ~OwnedArray() {
    for (ArrowArray& child : children)
      if (child.release != nullptr) child.release(&child);
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }
};

void release_array(ArrowArray* array) {
  delete static_cast<OwnedArray*>(array->private_data);
  array->private_data = nullptr;
  array->release = nullptr;
}

void publish(std::unique_ptr<OwnedArray> owned, std::int64_t length, std::int64_t null_count, ArrowArray* out) {
  *out = {};
  out->length = length;
  out->null_count = null_count;
  out->n_buffers = static_cast<std::int64_t>(owned->pointers.size());
  out->buffers = owned->pointers.data();
  out->n_children = static_cast<std::int64_t>(owned->child_pointers.size());
  out->children = owned->child_pointers.empty() ? nullptr : owned->child_pointers.data();
  out->dictionary = owned->dictionary.release != nullptr ? &owned->dictionary : nullptr;
  out->release = release_array;
  out->private_data = owned.release();
}

void give_column(const Column& column, ArrowArray* out) {
  auto owned = std::make_unique<OwnedArray>();
  owned->buffers = column.buffers;
  for (const Buffer& buffer : column.buffers) owned->pointers.push_back(buffer.data);
  if (column.dictionary != nullptr) give_column(*column.dictionary, &owned->dictionary);
  publish(std::move(owned), column.length, column.null_count, out);
}

// ---- schemas ---------------------------------------------------------------------------------------------------

struct OwnedSchema {
  std::string format, name, metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  ArrowSchema dictionary{};

  OwnedSchema() = default;
  OwnedSchema(const OwnedSchema&) = delete;
  OwnedSchema& operator=(const OwnedSchema&) = delete;
  ~OwnedSchema() {
    for (ArrowSchema& child : children)
      if (child.release != nullptr) child.release(&child);
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }
};

void release_schema(ArrowSchema* schema) {
  delete static_cast<OwnedSchema*>(schema->private_data);
  schema->private_data = nullptr;
  schema->release = nullptr;
}

void publish(std::unique_ptr<OwnedSchema> owned, std::int64_t flags, ArrowSchema* out) {
  *out = {};
  out->format = owned->format.c_str();
  out->name = owned->name.c_str();
  out->metadata = owned->metadata.empty() ? nullptr : owned->metadata.data();
  out->flags = flags;
  out->n_children = static_cast<std::int64_t>(owned->child_pointers.size());
  out->children = owned->child_pointers.empty() ? nullptr : owned->child_pointers.data();
  out->dictionary = owned->dictionary.release != nullptr ? &owned->dictionary : nullptr;
  out->release = release_schema;
  out->private_data = owned.release();
}

void give_type(const Column& column, ArrowSchema* out) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = column.format;
  owned->name = column.name;
  if (column.dictionary != nullptr) give_type(*column.dictionary, &owned->dictionary);
  publish(std::move(owned), column.nullable ? ARROW_FLAG_NULLABLE : 0, out);
}

void append_number(std::string& out, std::size_t number) {
  const auto value = static_cast<std::int32_t>(number);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// As the specification has it: lengths are numbers of 32 bits in the machine's own order.
std::string encoded(const Metadata& metadata) {
  std::string out;
  if (metadata.empty()) return out;
  append_number(out, metadata.size());
  for (const auto& [key, value] : metadata) {
    append_number(out, key.size());
    out += key;
    append_number(out, value.size());
    out += value;
  }
  return out;
}

// ---- streams ---------------------------------------------------------------------------------------------------

struct OwnedStream {
  Batch batch;
  Metadata metadata;
  bool given = false;
};

OwnedStream& of(ArrowArrayStream* stream) noexcept { return *static_cast<OwnedStream*>(stream->private_data); }

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  try {
    give_schema(of(stream).batch.columns, of(stream).metadata, out);
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  OwnedStream& owned = of(stream);
  try {
    if (owned.given)
      *out = {};  // the end
    else
      give_array(owned.batch, out);
    owned.given = true;
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

const char* stream_error(ArrowArrayStream*) noexcept { return "rangefinder: out of memory"; }

void release_stream(ArrowArrayStream* stream) noexcept {
  delete static_cast<OwnedStream*>(stream->private_data);
  stream->private_data = nullptr;
  stream->release = nullptr;
}

}  // namespace

void TextColumn::add(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD", kDigits = "0123456789ABCDEF";
  while (!text.empty()) {
    const std::size_t plain = base::plain_ascii(text);
    text_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    char32_t code_point = 0;
    const std::size_t length = base::decode_utf8(text, code_point);
    if (length != 0 && code_point != U'\uFFFD') {
      text_.append(text.substr(0, length));
      text.remove_prefix(length);
      continue;
    }
    const auto byte = static_cast<unsigned char>(text.front());
    text_.append(kReplacement).append({kDigits[byte >> 4], kDigits[byte & 15]});
    text.remove_prefix(1);
  }
  too_long_ = too_long_ || text_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  ends_.push_back(too_long_ ? ends_.back() : static_cast<std::int32_t>(text_.size()));
}

Column TextColumn::take(std::string name) && {
  Column column{.name = std::move(name), .format = "u", .length = static_cast<std::int64_t>(size())};
  auto text = std::make_shared<const std::string>(std::move(text_));
  column.buffers = {Buffer{}, buffer_of(std::move(ends_)), Buffer{text->data(), text}};
  return column;
}

void give_schema(const std::vector<Column>& columns, const Metadata& metadata, ArrowSchema* out) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = "+s";
  owned->metadata = encoded(metadata);
  owned->children.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) give_type(columns[i], &owned->children[i]);
  for (ArrowSchema& child : owned->children) owned->child_pointers.push_back(&child);
  publish(std::move(owned), 0, out);
}

void give_array(Batch batch, ArrowArray* out) {
  auto owned = std::make_unique<OwnedArray>();
  owned->pointers.push_back(nullptr);  // a row is never null as a whole
  owned->children.resize(batch.columns.size());
  for (std::size_t i = 0; i < batch.columns.size(); ++i) give_column(batch.columns[i], &owned->children[i]);
  for (ArrowArray& child : owned->children) owned->child_pointers.push_back(&child);
  publish(std::move(owned), batch.rows, 0, out);
}

void give_stream(Batch batch, Metadata metadata, ArrowArrayStream* out) {
  auto owned = std::make_unique<OwnedStream>(OwnedStream{std::move(batch), std::move(metadata)});
  *out = {};
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_error;
  out->release = release_stream;
  out->private_data = owned.release();
}

}  // namespace rangefinder::arrow
