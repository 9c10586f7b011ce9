// SPDX-License-Identifier: MIT
#include "report/text_table.hpp"

#include "base/colour.hpp"
#include "base/text.hpp"
#include "report/known_widths.hpp"
#include "report/short_names.hpp"
#include "report/units.hpp"
#include "report/wrapped.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::report {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kNarrowestText = 12;

// How narrow texts may become.
struct Least {
  std::size_t kernel;  // names of kernels, most of which say what they are in 40 columns
  std::size_t other;
};
// Columns are left out before texts become narrower than this.
constexpr Least kReadable{40, 20};
// What else has to give, in this order, so that the line fits.
constexpr Least kRounds[] = {kReadable, {40, kNarrowestText}, {24, kNarrowestText}, {kNarrowestText, kNarrowestText}};
// Every row is padded to the widest cell of a column: one name of a megabyte must not make each line that long. The
// last column has no padding and keeps its names whole.
constexpr std::size_t kWidestPadded = 256;

bool is_empty(const Table& table, std::size_t column) {
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (table.is_null(row, column)) continue;
    const ColumnType type = table.columns()[column].type;
    if (is_path(type) || table.number_at(row, column) != 0) return false;  // 0 is the empty text
  }
  return true;
}

std::vector<std::size_t> shown_columns(const Table& table) {
  std::vector<std::size_t> shown;
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    const InText in_text = table.columns()[column].in_text;
    if (in_text == InText::kNever || (in_text == InText::kUnlessEmpty && is_empty(table, column))) continue;
    shown.push_back(column);
  }
  return shown;
}

bool is_text(const Column& column) noexcept { return is_text(column.type); }

// A title in one line, or in two.
struct Title {
  std::string upper;
  std::string lower;

  std::size_t width() const { return std::max(base::display_width(upper), base::display_width(lower)); }
  /// At the space at which it gets narrowest.
  Title broken() const {
    Title best = *this;
    for (std::size_t at = lower.find(' '); upper.empty() && at != std::string::npos; at = lower.find(' ', at + 1)) {
      Title other{lower.substr(0, at), lower.substr(at + 1)};
      if (other.width() < best.width()) best = std::move(other);
    }
    return best;
  }
};

/// What stands before the last name of a path: as much as it is deep, as far as there is room for that; further inside
/// the depth is a number.
std::string indentation(std::uint32_t depth) {
  constexpr std::uint32_t kDeepest = 32;
  std::string text;
  text.reserve(std::size_t{2} * kDeepest + kMaxDigits);
  text.append(std::size_t{2} * std::min(depth, kDeepest), ' ');
  if (depth > kDeepest) {
    text += '[';
    append_plain_number(text, depth, 0);
    text += "] ";
  }
  return text;
}

/// The columns that are shown, numbered anew, and how wide they are.
class Layout {
 public:
  /// `width` 0: no limit.
  Layout(const Table& table, std::size_t width) : table_(table), shown_(shown_columns(table)) {
    measure();
    if (width == 0) return;
    if (total() > width) break_titles();
    while (least_total() > width && leave_out_one()) {
    }
    fit(width);
  }
  std::size_t columns() const noexcept { return shown_.size(); }
  std::size_t width(std::size_t column) const noexcept { return widths_[column]; }
  /// Names of columns that there was no room for.
  const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  const Title& title(std::size_t column) const noexcept { return titles_[column]; }
  const Column& kind(std::size_t column) const noexcept { return table_.columns()[shown_[column]]; }
  std::string cell(std::size_t row, std::size_t column) const { return readable_cell(table_, row, shown_[column]); }
  /// As wide as the column at most.
  std::string fitted_cell(std::size_t row, std::size_t column, bool utf8) const;
  /// What a cell holds: two of a column that hold the same are written alike.
  std::int64_t content(std::size_t row, std::size_t column) const noexcept {
    return table_.number_at(row, shown_[column]);
  }
  /// Whether two cells of the column may differ though they hold the same.
  bool depends_on_row(std::size_t column) const noexcept { return !kind(column).bound_by.empty(); }

 private:
  void measure();
  std::size_t cell_width(std::size_t row, std::size_t column) const;
  void break_titles();
  std::size_t least_total() const;
  bool leave_out_one();
  void fit(std::size_t width);
  void fit(std::size_t width, const Least& least);
  std::size_t total() const;
  bool is_last(std::size_t column) const noexcept { return column + 1 == widths_.size(); }

  const Table& table_;
  std::vector<std::size_t> shown_;
  std::vector<Title> titles_;
  std::vector<std::size_t> cell_widths_;
  std::vector<std::size_t> widths_;
  std::vector<std::string> left_out_;
};

void Layout::measure() {
  widths_.assign(columns(), 0);
  for (std::size_t column = 0; column < widths_.size(); ++column) {
    const bool depends = depends_on_row(column);
    KnownWidths known(kind(column).type, table_.time_origin_ns());
    std::int64_t measured = 0;  // last
    for (std::size_t row = 0; row < table_.row_count(); ++row) {
      const std::int64_t value = content(row, column);
      if (!depends && row != 0 && (value == measured || known.is_no_wider(value))) continue;
      widths_[column] = std::max(widths_[column], cell_width(row, column));
      known.note(measured = value);
    }
  }
  cell_widths_ = widths_;
  for (std::size_t column = 0; column < widths_.size(); ++column) {
    titles_.push_back({{}, heading(kind(column))});
    widths_[column] = std::max(widths_[column], titles_[column].width());
    if (!is_last(column)) widths_[column] = std::min(widths_[column], kWidestPadded);
  }
}

std::size_t Layout::cell_width(std::size_t row, std::size_t column) const {
  const ColumnType type = kind(column).type;
  if ((type == ColumnType::kText || type == ColumnType::kPathName) && !table_.is_null(row, shown_[column])) {
    // Mostly a name that is written as it is.
    std::string buffer;
    const std::string_view text = table_.readable_text_at(row, shown_[column], buffer);
    const bool is_indented = type == ColumnType::kPathName;
    const std::size_t before =
        is_indented ? indentation(table_.paths().depth(table_.path_at(row, shown_[column]))).size() : 0;
    if (base::plain_ascii(text) == text.size()) return before + text.size();
  }
  return base::display_width(cell(row, column));
}

void Layout::break_titles() {
  for (std::size_t column = 0; column < columns(); ++column) {
    if (titles_[column].width() <= cell_widths_[column]) continue;
    titles_[column] = titles_[column].broken();
    widths_[column] = std::max(cell_widths_[column], titles_[column].width());
  }
}

std::size_t least_of(const Column& column, const Least& least) noexcept {
  return column.names == Names::kKernels ? least.kernel : least.other;
}

std::size_t Layout::total() const {
  std::size_t total = kGap.size() * (widths_.empty() ? 0 : widths_.size() - 1);
  for (const std::size_t width : widths_) total += width;
  return total;
}

// With every text as narrow as it can still be read.
std::size_t Layout::least_total() const {
  std::size_t least = total();
  for (std::size_t column = 0; column < widths_.size(); ++column)
    if (is_text(kind(column))) least -= widths_[column] - std::min(widths_[column], least_of(kind(column), kReadable));
  return least;
}

bool Layout::leave_out_one() {
  std::size_t least = 0;
  for (std::size_t column = 1; column < columns(); ++column)
    if (kind(column).dispensable >= kind(least).dispensable) least = column;
  if (columns() == 0 || kind(least).dispensable == 0) return false;
  left_out_.push_back(heading(kind(least)));
  shown_.erase(shown_.begin() + static_cast<std::ptrdiff_t>(least));
  titles_.erase(titles_.begin() + static_cast<std::ptrdiff_t>(least));
  widths_.erase(widths_.begin() + static_cast<std::ptrdiff_t>(least));
  return true;
}

void Layout::fit(std::size_t width) {
  for (const Least& least : kRounds) fit(width, least);
}

// Takes from the widest text column until the line fits or no text can give more.
void Layout::fit(std::size_t width, const Least& least) {
  for (std::size_t total = this->total(); total > width;) {
    std::size_t widest = widths_.size(), next = 0;
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      if (!is_text(kind(column)) || widths_[column] <= least_of(kind(column), least)) continue;
      if (widest == widths_.size() || widths_[column] > widths_[widest]) {
        if (widest != widths_.size()) next = std::max(next, widths_[widest]);
        widest = column;
      } else {
        next = std::max(next, widths_[column]);
      }
    }
    if (widest == widths_.size()) return;
    const std::size_t room = widths_[widest] - std::max(next, least_of(kind(widest), least));
    const std::size_t step = std::min(total - width, std::max<std::size_t>(room, 1));
    widths_[widest] -= step;
    total -= step;
  }
}

std::string Layout::fitted_cell(std::size_t row, std::size_t column, bool utf8) const {
  std::string text = cell(row, column);
  // A column of numbers is as wide as they are; no character is wider than its bytes are many.
  if (!is_text(kind(column)) || text.size() <= widths_[column]) return text;
  const auto fitted = [&](std::string_view name, std::size_t width) {
    if (kind(column).names == Names::kKernels) return short_kernel_name(name, width, utf8);
    return kind(column).type == ColumnType::kPath ? short_path(name, width, utf8) : shortened(name, width, utf8);
  };
  // "a name and 3 more": the number is worth more than the name's end.
  const std::size_t more = text.ends_with(" more") ? text.rfind(" and ") : std::string::npos;
  const std::size_t suffix = more == std::string::npos ? 0 : text.size() - more;
  if (suffix == 0 || widths_[column] < suffix + kNarrowestText / 2) return fitted(text, widths_[column]);
  return fitted(std::string_view(text).substr(0, more), widths_[column] - suffix) + text.substr(more);
}

/// Behind what stands to its left.
void append_cell(std::string& line, std::string_view text, const Layout& layout, std::size_t column) {
  const bool right = !is_text(layout.kind(column)), last = column + 1 == layout.columns();
  const std::size_t taken = right || !last ? base::display_width(text) : layout.width(column);
  const std::size_t padding = layout.width(column) > taken ? layout.width(column) - taken : 0;
  if (column != 0) line += kGap;
  if (right) line.append(padding, ' ');
  line.append(text);
  if (!right) line.append(padding, ' ');
}

/// Cells as they are written. Many are what one of the last cells above is, and are made once.
class FittedCells {
 public:
  FittedCells(const Layout& layout, bool utf8) : layout_(layout), utf8_(utf8), known_(layout.columns() * kKnown) {}

  void append(std::string& line, std::size_t row, std::size_t column) {
    const std::int64_t content = layout_.content(row, column);
    const std::uint64_t hash = static_cast<std::uint64_t>(content) * 0x9E3779B97F4A7C15u >> 60;
    Known& known = known_[column * kKnown + hash];
    if (content != known.content || known.text.empty() || layout_.depends_on_row(column)) {
      known.content = content;
      known.text.clear();
      append_cell(known.text, layout_.fitted_cell(row, column, utf8_), layout_, column);
    }
    line += known.text;
  }

 private:
  static constexpr std::size_t kKnown = 16;  // of each column
  struct Known {
    std::int64_t content = 0;
    std::string text;
  };
  const Layout& layout_;
  bool utf8_;
  std::vector<Known> known_;
};

void append_titles(std::string& out, const Layout& layout, const TextOptions& options, std::string Title::*line) {
  std::string text;
  for (std::size_t column = 0; column < layout.columns(); ++column)
    append_cell(text, shortened(layout.title(column).*line, layout.width(column), options.utf8), layout, column);
  text.erase(text.find_last_not_of(' ') + 1);
  if (text.empty() && line == &Title::upper) return;
  out += options.colour ? std::string(base::colour::kBold) + text + std::string(base::colour::kPlain) : text;
  out += '\n';
}

void append_header(std::string& out, const Layout& layout, const TextOptions& options) {
  append_titles(out, layout, options, &Title::upper);
  append_titles(out, layout, options, &Title::lower);
  for (std::size_t column = 0; column < layout.columns(); ++column) {
    if (column != 0) out += kGap;
    // No rule longer than a screen under names without limit.
    const std::size_t length = std::min(layout.width(column), kWidestPadded);
    for (std::size_t i = 0; i < length; ++i) out += options.utf8 ? "\u2500" : "-";
  }
  out += '\n';
}

std::string count_of_rows(std::size_t count, std::string_view kind) {
  return base::with_thousands(count) + std::string(kind) + (count == 1 ? " row" : " rows");
}

/// Of a table that a filter has left nothing of, a note says it.
std::string hidden_rows_text(const Table& table) {
  const std::size_t filtered = table.filtered_rows(), more = table.hidden_rows() - filtered;
  if (table.row_count() == 0 && more == 0) return {};
  if (more == 0) return filtered == 0 ? std::string() : "the filter left out " + count_of_rows(filtered, "");
  return count_of_rows(more, " more") +
         (filtered == 0 ? std::string() : "; the filter left out " + base::with_thousands(filtered));
}

}  // namespace

std::string heading(const Column& column) {
  return base::printable(column.type == ColumnType::kTimestamp ? column.title + " (s)" : column.title);
}

std::string readable_cell(const Table& table, std::size_t row, std::size_t column) {
  const Column& kind = table.columns()[column];
  if (table.is_null(row, column)) return is_text(kind) ? "" : "-";
  std::string buffer;
  if (kind.type == ColumnType::kPathName)
    return indentation(table.paths().depth(table.path_at(row, column))) +
           base::printable(table.readable_text_at(row, column, buffer));
  if (is_text(kind)) return base::printable(table.readable_text_at(row, column, buffer));
  const std::int64_t value = table.number_at(row, column);
  const std::string_view bound = !kind.bound_by.empty() && table.is_lower_bound(row, column) ? "+" : "";
  switch (kind.type) {
    case ColumnType::kNanoseconds:
      return readable_time(value, kind.places);
    case ColumnType::kTimestamp:
      return readable_timestamp(value - table.time_origin_ns());
    case ColumnType::kBytes:
      return readable_bytes(value);
    case ColumnType::kFlops: {
      std::string flops = readable_flops(value);
      return flops.insert(flops.find(' '), bound);
    }
    case ColumnType::kReal:
      return readable_real(real_of_cell(value));
    default:
      return plain_number(value, kind.places)
          .append(bound)
          .append(kind.unit.empty() ? "" : " " + base::printable(kind.unit));
  }
}

Status write_text(const Table& table, const TextOptions& options, const Sink& sink) {
  const Layout layout(table, options.width);
  SinkBuffer out(sink);
  append_header(out.text(), layout, options);
  FittedCells cells(layout, options.utf8);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    for (std::size_t column = 0; column < layout.columns(); ++column) cells.append(out.text(), row, column);
    while (!out.text().empty() && out.text().back() == ' ') out.text().pop_back();
    out.text() += '\n';
    if (!out.flush_if_full()) break;
  }
  if (!layout.left_out().empty()) {
    std::string names;
    for (const std::string& name : layout.left_out()) names += (names.empty() ? "" : ", ") + name;
    out.text() += wrapped("(no room for " + names + ")", std::max(options.width, kNarrowestText), 0) + "\n";
  }
  if (const std::string hidden = hidden_rows_text(table); !hidden.empty()) out.text() += "(" + hidden + ")\n";
  return out.finish();
}

std::string to_text(const Table& table, const TextOptions& options) {
  std::string text;
  (void)write_text(table, options, [&](std::string_view piece) {
    text.append(piece);
    return Status();
  });
  return text;
}

}  // namespace rangefinder::report
