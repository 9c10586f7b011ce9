// SPDX-License-Identifier: MIT
#include "source/torch/operator_inputs.hpp"

#include <rangefinder/detail/operators.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarTypeToTypeMeta.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string_view>

namespace rangefinder::torch {
namespace {

// Of tensors and of numbers, as torch.profiler has it: a longer list of tensors has a type alone, of numbers nothing.
constexpr std::size_t kMaxShown = 30;
// A shape takes no fewer bytes in a key than half of those in its text; more than that fits in no name.
constexpr std::size_t kMaxKeyBytes = std::size_t{32} << 10;
// Keys that are kept for the next time; operators with more are few.
constexpr std::size_t kMaxKeptBytes = 1024;
constexpr unsigned kSlotBits = 10;

enum class Tag : char {
  kOther = 1,  // nothing is said of it
  kTensor,     // type, number of sizes, sizes
  kTensors,    // number, each without tag
  kManyTensors,
  kScalar,   // number
  kScalars,  // how many, numbers
};

/// A number: kTruth and kInteger have 8 bytes, kDouble its bits, kText a length and the text.
enum class Number : char { kTruth = 1, kInteger, kDouble, kText };

template <typename T>
void append(std::string& key, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  key.append(bytes, sizeof value);
}

/// Sizes of a tensor that are numbers, not symbols.
bool has_sizes(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_nested() && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

void append_tensor(std::string& key, const at::Tensor& tensor) {
  const c10::IntArrayRef sizes = tensor.sizes();
  append(key, tensor.scalar_type());
  append(key, static_cast<std::uint32_t>(sizes.size()));
  key.append(reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(std::int64_t));
}

void append_tensors(std::string& key, c10::ArrayRef<c10::IValue> list) {
  if (list.size() > kMaxShown) return append(key, Tag::kManyTensors);
  for (const c10::IValue& element : list) {
    if (!has_sizes(element.toTensor())) return append(key, Tag::kOther);
  }
  append(key, Tag::kTensors);
  append(key, static_cast<std::uint32_t>(list.size()));
  for (const c10::IValue& element : list) append_tensor(key, element.toTensor());
}

void append_number(std::string& key, const c10::IValue& value) {
  if (value.isBool()) {
    append(key, Number::kTruth);
    append(key, std::int64_t{value.toBool()});
  } else if (value.isInt()) {
    append(key, Number::kInteger);
    append(key, value.toInt());
  } else if (value.isDouble()) {
    append(key, Number::kDouble);
    append(key, value.toDouble());
  } else {  // complex numbers and symbols
    std::ostringstream text;
    text << value;
    append(key, Number::kText);
    append(key, static_cast<std::uint32_t>(text.str().size()));
    key += text.str();
  }
}

void append_list(std::string& key, c10::ArrayRef<c10::IValue> list) {
  const bool is_shown = list.empty() || (list[0].isScalar() && list.size() <= kMaxShown);
  if (!is_shown) return append(key, Tag::kOther);
  append(key, Tag::kScalars);
  append(key, static_cast<std::uint32_t>(list.size()));
  for (const c10::IValue& element : list) append_number(key, element);
}

// ---- the text of a key ------------------------------------------------------------------------------------------

template <typename T>
T take(std::string_view& key) {
  T value;
  std::memcpy(&value, key.data(), sizeof value);
  key.remove_prefix(sizeof value);
  return value;
}

void append_integer(std::string& text, std::int64_t value) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// As LibTorch prints it: whole numbers end with a point, others have all their digits.
void append_double(std::string& text, double value) {
  const int kind = std::fpclassify(value);
  const bool is_small = (kind == FP_NORMAL || kind == FP_ZERO) && std::fabs(value) < 0x1p63;
  if (is_small && static_cast<double>(static_cast<std::int64_t>(value)) == value) {
    append_integer(text, static_cast<std::int64_t>(value));
    text += '.';
    return;
  }
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  text += digits;
}

void append_number_text(std::string& text, std::string_view& key) {
  switch (take<Number>(key)) {
    case Number::kTruth:
      text += take<std::int64_t>(key) != 0 ? "True" : "False";
      return;
    case Number::kInteger:
      return append_integer(text, take<std::int64_t>(key));
    case Number::kDouble:
      return append_double(text, take<double>(key));
    case Number::kText: {
      const auto size = take<std::uint32_t>(key);
      for (const char c : key.substr(0, size)) text += c < ' ' || c == '"' || c == '\\' ? '?' : c;
      key.remove_prefix(size);
    }
  }
}

template <typename AppendOne>
void append_joined(std::string& text, std::uint32_t count, AppendOne append_one) {
  text += '[';
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i != 0) text += ", ";
    append_one();
  }
  text += ']';
}

/// Returns the type of its elements.
c10::ScalarType append_shape(std::string& text, std::string_view& key) {
  const auto type = take<c10::ScalarType>(key);
  const auto sizes = take<std::uint32_t>(key);
  append_joined(text, sizes, [&] { append_integer(text, take<std::int64_t>(key)); });
  return type;
}

struct Lists {
  std::string shapes = "[", types = "[", values = "[";
};

void append_input(Lists& lists, std::string_view& key) {
  const Tag tag = take<Tag>(key);
  switch (tag) {
    case Tag::kTensor:
      lists.types += c10::scalarTypeToTypeMeta(append_shape(lists.shapes, key)).name();
      return;
    case Tag::kTensors:
      lists.types += "TensorList";
      append_joined(lists.shapes, take<std::uint32_t>(key), [&] { append_shape(lists.shapes, key); });
      return;
    case Tag::kScalar:
      lists.types += "Scalar";
      append_number_text(lists.values, key);
      break;
    case Tag::kScalars:
      lists.types += "ScalarList";
      append_joined(lists.values, take<std::uint32_t>(key), [&] { append_number_text(lists.values, key); });
      break;
    case Tag::kManyTensors:
      lists.types += "TensorList";
      break;
    case Tag::kOther:
      break;
  }
  lists.shapes += "[]";
}

}  // namespace

bool append_inputs_key(std::string& key, c10::ArrayRef<const c10::IValue> inputs) {
  for (const c10::IValue& value : inputs) {
    if (key.size() > kMaxKeyBytes) return false;
    if (value.isTensor()) {
      const bool is_told = has_sizes(value.toTensor());
      append(key, is_told ? Tag::kTensor : Tag::kOther);
      if (is_told) append_tensor(key, value.toTensor());
    } else if (value.isScalar()) {
      append(key, Tag::kScalar);
      append_number(key, value);
    } else if (value.isTensorList()) {
      append_tensors(key, value.toListRef());
    } else if (value.isList()) {
      append_list(key, value.toListRef());
    } else {
      append(key, Tag::kOther);
    }
  }
  return key.size() <= kMaxKeyBytes;
}

std::string inputs_text(const std::string& key) {
  Lists lists;
  for (std::string_view rest = key; !rest.empty();) {
    if (rest.size() != key.size()) lists.shapes += ", ";
    lists.types += rest.size() != key.size() ? ", \"" : "\"";
    lists.values += rest.size() != key.size() ? ", \"" : "\"";
    append_input(lists, rest);
    lists.types += '"';
    lists.values += '"';
  }
  return lists.shapes + "]\n" + lists.types + "]\n" + lists.values + "]";
}

std::uint32_t OperatorInputs::find_or_make() {
  if (slots_ == nullptr) slots_ = std::make_unique<Slot[]>(std::size_t{1} << kSlotBits);
  Slot& slot = slots_[detail::hash_text(key_.data(), key_.size()) >> (64 - kSlotBits)];
  if (slot.key == key_) return slot.id;
  const std::uint32_t id = detail::intern_inputs(inputs_text(key_));
  if (key_.size() <= kMaxKeptBytes) {
    slot.key = key_;
    slot.id = id;
  }
  return id;
}

OperatorInputs::Found OperatorInputs::find(const at::RecordFunction& function) noexcept try {
  const c10::ArrayRef<const c10::IValue> inputs = function.inputs();
  if (inputs.empty()) return {};
  key_.clear();
  const std::uint32_t id = append_inputs_key(key_, inputs) ? find_or_make() : 0;
  return {id, id == 0};
} catch (...) {  // no memory, or an input that LibTorch does not let us look at
  return {0, true};
}

}  // namespace rangefinder::torch
