// SPDX-License-Identifier: MIT
#include "exporter/parquet/row_file.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>
#include <utility>

namespace rangefinder::parquet {
namespace {

const char* format_of(CellKind kind) noexcept {
  switch (kind) {
    case CellKind::kInt64:
      return "l";
    case CellKind::kFlag:
      return "b";
    default:
      return "i";  // of a text: the index
  }
}

/// The types alone: what a file of no rows has as well.
std::vector<arrow::Column> types_of(const std::vector<Field>& fields, const std::vector<const char*>& constants) {
  const auto texts = std::make_shared<const arrow::Column>(arrow::TextColumn().take(""));
  std::vector<arrow::Column> columns;
  for (const Field& field : fields) {
    arrow::Column column{.name = field.name, .format = format_of(field.kind), .nullable = field.nullable};
    if (field.kind == CellKind::kText) column.dictionary = texts;
    columns.push_back(std::move(column));
  }
  for (const char* const name : constants) columns.push_back({.name = name, .format = "l"});
  return columns;
}

}  // namespace

RowFile::RowFile(const rf_parquet_writer& writer, std::string path, Options options)
    : writer_(writer),
      path_(std::move(path)),
      options_(std::move(options)),
      text_of_(options_.fields.size()),
      values_(options_.fields.size() + options_.constants.size()),
      constants_(options_.constants.size()),
      filled_(options_.constants.size()) {
  std::size_t next = 0;
  for (std::size_t field = 0; field < options_.fields.size(); ++field)
    if (options_.fields[field].kind == CellKind::kText) text_of_[field] = &options_.texts[next++];
}

RowFile::~RowFile() {
  if (file_ != nullptr) writer_.abandon(file_);
}

void RowFile::note(std::string_view message) {
  if (failure_.empty()) failure_ = message;
}

bool RowFile::can_reuse(std::size_t column) const noexcept {
  return values_[column] != nullptr && values_[column].use_count() == 1;
}

/// Room for the values of a column of this row group: that of the last one, unless a writer keeps it.
template <typename T>
std::shared_ptr<T[]> RowFile::values_of(std::size_t column) {
  std::shared_ptr<std::byte[]>& values = values_[column];
  if (!can_reuse(column)) values = std::shared_ptr<std::byte[]>(new std::byte[values_rows_ * sizeof(T)]);
  return {values, reinterpret_cast<T*>(values.get())};
}

/// Pages of rows that never come take no memory.
void RowFile::make_room() {
  cells_ = std::shared_ptr<std::int64_t[]>(new std::int64_t[options_.fields.size() * stride()]);
}

void RowFile::open() {
  if (file_ != nullptr || !failure_.empty()) return;
  Result<base::TemporaryFile> output = base::TemporaryFile::create(path_);
  if (!output) return note(output.error().message());
  output_ = std::move(*output);
  ArrowSchema schema{};
  arrow::give_schema(types_of(options_.fields, options_.constants), {}, &schema);
  if (const char* const failed = writer_.open(output_->fd().get(), &schema, options_.sorted_by.data(),
                                              static_cast<std::int32_t>(options_.sorted_by.size()), &file_))
    note(failed);
}

void RowFile::put_in_order() {
  std::vector<const std::int64_t*> keys;
  for (const int field : options_.sorted_by) keys.push_back(cells_of(static_cast<std::size_t>(field)));
  const auto before = [&keys](std::uint32_t a, std::uint32_t b) {
    for (const std::int64_t* const cells : keys)
      if (cells[a] != cells[b]) return cells[a] < cells[b];
    return false;
  };
  // Rows mostly come in order.
  std::uint32_t in_order = 1;
  while (in_order < kept_ && !before(in_order, in_order - 1)) ++in_order;
  if (in_order >= kept_) return;
  std::vector<std::uint32_t> order(kept_);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), before);
  std::vector<std::int64_t> sorted(kept_);
  for (std::size_t field = 0; field < options_.fields.size(); ++field) {
    std::int64_t* const cells = cells_of(field);
    std::transform(order.begin(), order.end(), sorted.begin(), [cells](std::uint32_t row) { return cells[row]; });
    std::copy(sorted.begin(), sorted.end(), cells);
  }
}

void RowFile::flush() {
  open();
  if (kept_ != 0 && failure_.empty()) {
    put_in_order();
    if (kept_ > values_rows_) {
      values_.assign(values_.size(), nullptr);
      values_rows_ = kept_;
    }
    arrow::Batch batch;
    batch.rows = static_cast<std::int64_t>(kept_);
    for (std::size_t field = 0; field < options_.fields.size(); ++field) batch.columns.push_back(column_of(field));
    for (std::size_t i = 0; i < options_.constants.size(); ++i) batch.columns.push_back(constant_column(i));
    ArrowArray rows{};
    arrow::give_array(std::move(batch), &rows);
    if (const char* const failed = writer_.write(file_, &rows)) note(failed);
    // A writer that keeps rows for later keeps these.
    if (cells_.use_count() > 1) cells_.reset();
  }
  written_ += kept_;
  kept_ = 0;
}

arrow::Column RowFile::column_of(std::size_t field) {
  const Field& kind = options_.fields[field];
  if (kind.kind == CellKind::kText) return text_column(field);
  const std::int64_t* const cells = cells_of(field);
  arrow::Column column{.name = kind.name,
                       .format = format_of(kind.kind),
                       .length = static_cast<std::int64_t>(kept_),
                       .nullable = kind.nullable};
  arrow::Buffer data{cells, cells_};
  if (kind.kind == CellKind::kFlag) {
    data = arrow::Bits(kept_, [cells](std::size_t row) { return cells[row] != 0; }).buffer();
  } else if (kind.kind == CellKind::kInt32) {
    const auto values = values_of<std::int32_t>(field);
    std::transform(cells, cells + kept_, values.get(),
                   [](std::int64_t cell) { return static_cast<std::int32_t>(cell); });
    data = {values.get(), values};
  }
  column.buffers = {validity(column, cells), std::move(data)};
  return column;
}

/// The dictionary has the texts that occur in this row group, each once.
arrow::Column RowFile::text_column(std::size_t field) {
  const Field& kind = options_.fields[field];
  const std::int64_t* const cells = cells_of(field);
  arrow::Column column{
      .name = kind.name, .format = "i", .length = static_cast<std::int64_t>(kept_), .nullable = kind.nullable};
  arrow::TextColumn texts;
  const auto indices = values_of<std::int32_t>(field);
  place_.clear();
  const auto index_of = [&](std::int64_t id) {
    if (id == kMissing) return std::int32_t{0};
    const auto at = static_cast<std::size_t>(id);
    if (at >= place_.size()) place_.resize(at + 1, -1);
    if (place_[at] < 0) {
      place_[at] = static_cast<std::int32_t>(texts.size());
      texts.add((*text_of_[field])(id));
    }
    return place_[at];
  };
  std::int64_t last_id = cells[0];
  std::int32_t last_index = index_of(last_id);
  for (std::size_t row = 0; row < kept_; ++row) {
    if (cells[row] != last_id) {
      last_id = cells[row];
      last_index = index_of(last_id);
    }
    indices[static_cast<std::ptrdiff_t>(row)] = last_index;
  }
  if (texts.is_too_long()) note("the texts of a row group take more than 2 GiB");
  column.dictionary = std::make_shared<const arrow::Column>(std::move(texts).take(""));
  column.buffers = {validity(column, cells), arrow::Buffer{indices.get(), indices}};
  return column;
}

/// The bits of rows that have a value, in a column that may have none; counts those that have not.
arrow::Buffer RowFile::validity(arrow::Column& column, const std::int64_t* cells) const {
  if (!column.nullable) return {};
  column.null_count = std::count(cells, cells + kept_, kMissing);
  if (column.null_count == 0) return {};
  return arrow::Bits(kept_, [cells](std::size_t row) { return cells[row] != kMissing; }).buffer();
}

arrow::Column RowFile::constant_column(std::size_t constant) {
  const std::size_t column = options_.fields.size() + constant;
  Filled& filled = filled_[constant];
  if (!can_reuse(column)) filled.rows = 0;
  const auto values = values_of<std::int64_t>(column);
  if (filled.rows < kept_ || filled.number != constants_[constant]) {
    std::fill_n(values.get(), kept_, constants_[constant]);
    filled = {constants_[constant], kept_};
  }
  return {.name = options_.constants[constant],
          .format = "l",
          .length = static_cast<std::int64_t>(kept_),
          .buffers = {arrow::Buffer{}, arrow::Buffer{values.get(), values}}};
}

Status RowFile::finish() {
  if (!closed_) {
    flush();
    if (file_ != nullptr)
      if (const char* const failed = writer_.close(std::exchange(file_, nullptr))) note(failed);
    cells_.reset();
    closed_ = true;
  }
  if (failure_.empty()) return {};
  return Error(ErrorCode::kIo, "write " + path_ + ": " + failure_);
}

Status RowFile::take_name(bool replace) {
  const int error = replace ? output_->take_name(path_) : output_->take_free_name(path_);
  if (error == EEXIST)
    return Error(ErrorCode::kExists, path_ + ": exists already; choose another folder" + std::string(base::kOrReplace));
  if (error != 0) return base::system_error("rename to", path_, error);
  return {};
}

}  // namespace rangefinder::parquet
