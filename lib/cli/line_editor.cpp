// SPDX-License-Identifier: MIT
#include "cli/line_editor.hpp"

#include "base/text.hpp"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

namespace rangefinder::cli {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kMostEarlier = 1000;

constexpr char control(char letter) noexcept { return static_cast<char>(letter & 0x1F); }

bool is_word_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether a byte goes on with the UTF-8 sequence before it.
bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t begin_of_word(std::string_view line, std::size_t end) noexcept {
  while (end > 0 && is_word_byte(line[end - 1])) --end;
  return end;
}

std::string common_beginning(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    const auto end = std::mismatch(common.begin(), common.end(), word.begin(), word.end()).first;
    common.erase(end, common.end());
  }
  return common;
}

/// A terminal that gives each key at once, as long as this exists.
class KeyByKey {
 public:
  KeyByKey() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    struct termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
    now.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    changed_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &now) == 0;
  }
  ~KeyByKey() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  KeyByKey(const KeyByKey&) = delete;
  KeyByKey& operator=(const KeyByKey&) = delete;

 private:
  struct termios before_ {};
  bool changed_ = false;
};

/// Nothing at the end of the input.
std::optional<char> read_byte() {
  char byte = 0;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got == 1) return byte;
    if (got < 0 && errno == EINTR) continue;
    return std::nullopt;
  }
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void LineEditor::begin() {
  line_.clear();
  newest_.clear();
  choices_.clear();
  escape_.clear();
  in_escape_ = false;
  cursor_ = 0;
  place_ = earlier_.size();
}

LineEditor::State LineEditor::take(char byte) {
  choices_.clear();
  if (in_escape_) {
    take_escape(byte);
    return State::kEditing;
  }
  if (static_cast<unsigned char>(byte) < ' ' || byte == 0x7F) return take_control(byte);
  if (line_.size() < kLongestLine) line_.insert(cursor_++, 1, byte);
  return State::kEditing;
}

LineEditor::State LineEditor::take_control(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      if (!line_.empty() && (earlier_.empty() || earlier_.back() != line_)) earlier_.push_back(line_);
      if (earlier_.size() > kMostEarlier) earlier_.erase(earlier_.begin());
      return State::kDone;
    case control('C'):
      begin();
      return State::kCancelled;
    case control('D'):
      if (line_.empty()) return State::kEnd;
      break;
    case control('A'):
      cursor_ = 0;
      break;
    case control('E'):
      cursor_ = line_.size();
      break;
    case control('U'):
      erase(0, cursor_);
      break;
    case control('K'):
      erase(cursor_, line_.size());
      break;
    case control('W'): {
      std::size_t from = cursor_;
      while (from > 0 && !is_word_byte(line_[from - 1])) --from;
      erase(begin_of_word(line_, from), cursor_);
      break;
    }
    case '\t':
      complete();
      break;
    case '\b':
    case 0x7F:
      if (const std::size_t end = cursor_; end > 0) {
        move_left();
        erase(cursor_, end);
      }
      break;
    case 0x1B:
      in_escape_ = true;
      escape_.clear();
      break;
    default:
      break;
  }
  return State::kEditing;
}

/// ESC [ A, ESC O A, ESC [ 3 ~: letters and ~ end a sequence.
void LineEditor::take_escape(char byte) {
  constexpr std::size_t kLongestSequence = 16;
  escape_ += byte;
  if (escape_.size() == 1 && (byte == '[' || byte == 'O')) return;
  const bool ends = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '~';
  if (!ends && escape_.size() > 1 && escape_.size() < kLongestSequence) return;
  in_escape_ = false;
  const std::string_view keys(escape_);
  if (keys == "[A" || keys == "OA") {
    if (place_ > 0) recall(place_ - 1);
  } else if (keys == "[B" || keys == "OB") {
    if (place_ < earlier_.size()) recall(place_ + 1);
  } else if (keys == "[C" || keys == "OC") {
    move_right();
  } else if (keys == "[D" || keys == "OD") {
    move_left();
  } else if (keys == "[H" || keys == "OH" || keys == "[1~") {
    cursor_ = 0;
  } else if (keys == "[F" || keys == "OF" || keys == "[4~") {
    cursor_ = line_.size();
  } else if (keys == "[3~") {
    const std::size_t from = cursor_;
    move_right();
    erase(from, cursor_);
  }
}

void LineEditor::move_left() noexcept {
  while (cursor_ > 0 && continues(line_[--cursor_])) {
  }
}

void LineEditor::move_right() noexcept {
  if (cursor_ < line_.size()) ++cursor_;
  while (cursor_ < line_.size() && continues(line_[cursor_])) ++cursor_;
}

void LineEditor::erase(std::size_t from, std::size_t to) {
  line_.erase(from, to - from);
  cursor_ = from;
}

void LineEditor::recall(std::size_t place) {
  if (place_ == earlier_.size()) newest_ = line_;
  place_ = place;
  line_ = place == earlier_.size() ? newest_ : earlier_[place];
  cursor_ = line_.size();
}

void LineEditor::complete() {
  const std::vector<std::string> words = complete_(std::string_view(line_).substr(0, cursor_));
  if (words.empty()) return;
  const std::size_t from = begin_of_word(line_, cursor_);
  const std::string common = common_beginning(words);
  if (common.size() > cursor_ - from) {
    line_.replace(from, cursor_ - from, common);
    cursor_ = from + common.size();
  } else if (words.size() > 1) {
    choices_ = words;
  }
  if (words.size() == 1) line_.insert(cursor_++, 1, ' ');
}

std::optional<std::string> LineReader::read(std::string_view prompt) {
  if (from_terminal_) return read_from_terminal(prompt);
  std::string line;
  while (const std::optional<char> byte = read_byte()) {
    if (*byte == '\n') return line;
    if (line.size() < kLongestLine) line += *byte;
  }
  return line.empty() ? std::nullopt : std::optional<std::string>(std::move(line));
}

std::optional<std::string> LineReader::read_from_terminal(std::string_view prompt) {
  const KeyByKey keys;
  editor_.begin();
  cancelled_ = false;
  show(prompt);
  while (const std::optional<char> byte = read_byte()) {
    const LineEditor::State state = editor_.take(*byte);
    if (!editor_.choices().empty()) {
      std::string list = "\r\n";
      for (const std::string& word : editor_.choices()) list += base::printable(word) + "  ";
      say(list + "\r\n");
    }
    if (state != LineEditor::State::kEditing) say("\r\n");
    if (state == LineEditor::State::kDone) return editor_.line();
    cancelled_ = state == LineEditor::State::kCancelled;
    if (cancelled_) return std::string();
    if (state == LineEditor::State::kEnd) return std::nullopt;
    show(prompt);
  }
  return std::nullopt;
}

/// The line anew, with the cursor in its place. A line that is wider than the terminal wraps; its begin stays above.
void LineReader::show(std::string_view prompt) const {
  const std::string& line = editor_.line();
  std::string out = "\r\x1B[K" + std::string(prompt) + base::printable(line);
  const std::size_t behind = base::display_width(base::printable(std::string_view(line).substr(editor_.cursor())));
  if (behind != 0) out += "\x1B[" + std::to_string(behind) + "D";
  say(out);
}

}  // namespace rangefinder::cli
