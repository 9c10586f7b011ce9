// SPDX-License-Identifier: MIT
#include "report/text_table.hpp"

#include "base/colour.hpp"
#include "base/text.hpp"
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

/// Which numbers of a column cannot be wider than those before, so that most need not be written to be measured.
class KnownWidths {
 public:
  KnownWidths(const Column& column, std::int64_t time_origin_ns) : column_(column), origin_ns_(time_origin_ns) {}

  /// `widest`: of the numbers that were noted.
  bool is_no_wider(std::int64_t value, std::size_t widest) const noexcept {
    // "123.4 ms": four digits, a point and a unit, but for very long times.
    constexpr std::size_t kWidestTime = 8;
    constexpr std::int64_t kLongTime = 1'000'000'000'000;
    switch (column_.type) {
      case ColumnType::kInteger:
      case ColumnType::kDecimal:
        return value >= 0 && value <= largest_;
      case ColumnType::kTimestamp:
        return value >= origin_ns_ && value <= largest_;
      case ColumnType::kNanoseconds:
        return value >= 0 && value < kLongTime - kLongTime / 1'000 && widest >= kWidestTime;
      default:
        return false;
    }
  }
  void note(std::int64_t value) noexcept { largest_ = std::max(largest_, value); }

 private:
  const Column& column_;
  std::int64_t origin_ns_;
  std::int64_t largest_ = kNull;
};

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
    KnownWidths known(kind(column), table_.time_origin_ns());
    for (std::size_t row = 0; row < table_.row_count(); ++row) {
      const std::int64_t value = content(row, column);
      const bool as_above = row != 0 && value == content(row - 1, column);
      if (!depends_on_row(column) && (as_above || known.is_no_wider(value, widths_[column]))) continue;
      widths_[column] = std::max(widths_[column], cell_width(row, column));
      known.note(value);
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
  std::string buffer;
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (kind(column).type == ColumnType::kText) {  // mostly a name that is written as it is
    const std::string_view text = table_.readable_text_at(row, shown_[column], buffer);
    if (std::all_of(text.begin(), text.end(), is_plain)) return text.size();
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

void append_cell(std::string& line, std::string_view text, std::size_t width, bool right, bool last) {
  if (!right && last) {
    line.append(text);
    return;
  }
  const std::size_t taken = base::display_width(text);
  const std::size_t padding = width > taken ? width - taken : 0;
  if (right) line.append(padding, ' ');
  line.append(text);
  if (!right) line.append(padding, ' ');
}

/// Cells as they are written. Many are what the cell above is, and are made once.
class FittedCells {
 public:
  FittedCells(const Layout& layout, bool utf8) : layout_(layout), utf8_(utf8), last_(layout.columns()) {}

  /// Rows from the first one on.
  const std::string& at(std::size_t row, std::size_t column) {
    Last& last = last_[column];
    const std::int64_t content = layout_.content(row, column);
    if (row == 0 || content != last.content || layout_.depends_on_row(column))
      last = {content, layout_.fitted_cell(row, column, utf8_)};
    return last.text;
  }

 private:
  struct Last {
    std::int64_t content = 0;
    std::string text;
  };
  const Layout& layout_;
  bool utf8_;
  std::vector<Last> last_;  // by column
};

void append_titles(std::string& out, const Layout& layout, const TextOptions& options, std::string Title::*line) {
  std::string text;
  for (std::size_t column = 0; column < layout.columns(); ++column) {
    if (column != 0) text += kGap;
    append_cell(text, shortened(layout.title(column).*line, layout.width(column), options.utf8), layout.width(column),
                !is_text(layout.kind(column)), column + 1 == layout.columns());
  }
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

/// Indented by depth, as far as there is room for that; further inside the depth is a number.
std::string indented_name(const Paths& paths, Paths::Node node) {
  constexpr std::uint32_t kDeepest = 32;
  const std::uint32_t depth = paths.depth(node);
  std::string text(std::size_t{2} * std::min(depth, kDeepest), ' ');
  if (depth > kDeepest) text += "[" + std::to_string(depth) + "] ";
  return text + base::printable(paths.name(node));
}

}  // namespace

std::string heading(const Column& column) {
  return base::printable(column.type == ColumnType::kTimestamp ? column.title + " (s)" : column.title);
}

std::string readable_cell(const Table& table, std::size_t row, std::size_t column) {
  const Column& kind = table.columns()[column];
  if (table.is_null(row, column)) return is_text(kind) ? "" : "-";
  if (kind.type == ColumnType::kPathName) return indented_name(table.paths(), table.path_at(row, column));
  std::string buffer;
  if (is_text(kind)) return base::printable(table.readable_text_at(row, column, buffer));
  const std::int64_t value = table.number_at(row, column);
  const std::string_view bound = table.is_lower_bound(row, column) ? "+" : "";
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
      return plain_number(value, kind.places).append(bound) +
             (kind.unit.empty() ? "" : " " + base::printable(kind.unit));
  }
}

Status write_text(const Table& table, const TextOptions& options, const Sink& sink) {
  const Layout layout(table, options.width);
  SinkBuffer out(sink);
  append_header(out.text(), layout, options);
  FittedCells cells(layout, options.utf8);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    for (std::size_t column = 0; column < layout.columns(); ++column) {
      const bool last = column + 1 == layout.columns();
      if (column != 0) out.text() += kGap;
      append_cell(out.text(), cells.at(row, column), layout.width(column), !is_text(layout.kind(column)), last);
    }
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
