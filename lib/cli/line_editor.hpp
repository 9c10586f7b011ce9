// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::cli {

/// The words that may stand in the place of the word before the cursor; `before` is the line up to the cursor.
using Complete = std::function<std::vector<std::string>(std::string_view before)>;

/// What a line becomes while keys are pressed; it reads no terminal and writes none.
///
/// Left, right, home, end (Ctrl-A, Ctrl-E), backspace, delete, Ctrl-U (to the begin), Ctrl-K (to the end), Ctrl-W (the
/// word before), up and down (earlier lines), tab (completes).
class LineEditor {
 public:
  explicit LineEditor(Complete complete) : complete_(std::move(complete)) {}

  enum class State : char {
    kEditing,
    kDone,       ///< line() is what was entered
    kCancelled,  ///< Ctrl-C: the line is empty again
    kEnd,        ///< Ctrl-D on an empty line
  };
  /// What a byte of input makes of the line.
  State take(char byte);
  /// A new line; `line()` becomes an earlier one.
  void begin();

  const std::string& line() const noexcept { return line_; }
  std::size_t cursor() const noexcept { return cursor_; }  ///< byte of the line
  /// Words that the last tab had to choose from; empty where it had none, or one.
  const std::vector<std::string>& choices() const noexcept { return choices_; }

 private:
  State take_control(char byte);
  void take_escape(char byte);
  void move_left() noexcept;
  void move_right() noexcept;
  void erase(std::size_t from, std::size_t to);
  void recall(std::size_t place);
  void complete();

  Complete complete_;
  std::vector<std::string> earlier_;
  std::size_t place_ = 0;  // among the earlier lines; their number: the new one
  std::string newest_;     // the new line while an earlier one is shown
  std::string line_;
  std::string escape_;  // an unfinished escape sequence, without ESC
  bool in_escape_ = false;
  std::size_t cursor_ = 0;
  std::vector<std::string> choices_;
};

/// Reads lines from a terminal with the editor, and plainly from anything else. The prompt goes to stderr.
class LineReader {
 public:
  LineReader(Complete complete, bool from_terminal) : editor_(std::move(complete)), from_terminal_(from_terminal) {}

  /// Nothing at the end. A cancelled line is an empty one.
  std::optional<std::string> read(std::string_view prompt);
  /// Whether Ctrl-C ended the last line.
  bool was_cancelled() const noexcept { return cancelled_; }

 private:
  std::optional<std::string> read_from_terminal(std::string_view prompt);
  void show(std::string_view prompt) const;

  LineEditor editor_;
  bool from_terminal_;
  bool cancelled_ = false;
};

}  // namespace rangefinder::cli
