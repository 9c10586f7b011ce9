// SPDX-License-Identifier: MIT
#include "cli/command.hpp"
#include "cli/values.hpp"
#include "mcp/server.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::cli {
namespace {

struct McpArguments {
  std::string folder;
  std::size_t max_rows = 200;
  std::uint64_t max_bytes = 256 << 10;
  double timeout_s = 30;
};

/// Splits what comes in into lines. Of one that is too long nothing is kept.
class Lines {
 public:
  /// Calls `use(line, is_too_long)` for each line that ends in `bytes`.
  template <typename Use>
  void add(std::string_view bytes, const Use& use) {
    while (!bytes.empty()) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      if (line_.size() + end > mcp::Server::kLongestLine) {
        too_long_ = true;
        line_.clear();
      }
      if (!too_long_) line_.append(bytes.substr(0, end));
      if (end == bytes.size()) return;
      use(std::string_view(line_), too_long_);
      line_.clear();
      too_long_ = false;
      bytes.remove_prefix(end + 1);
    }
  }

 private:
  std::string line_;
  bool too_long_ = false;
};

/// Until the client closes standard input, or standard output.
int serve(mcp::Server& server) {
  std::string buffer(64 << 10, '\0');
  Lines lines;
  bool open = true;
  while (open) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    lines.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)),
              [&](std::string_view line, bool is_too_long) {
                if (!open || (!is_too_long && line.find_first_not_of(" \t\r") == std::string_view::npos)) return;
                const std::string answer = is_too_long ? mcp::Server::answer_to_long_line() : server.answer(line);
                if (!answer.empty()) open = write_stdout(answer + "\n") && std::fflush(stdout) == 0;
              });
  }
  return kSuccess;
}

int run_mcp(const Common& common, const McpArguments& arguments) {
  bound_memory(common);
  Result<mcp::Folder> folder = mcp::Folder::open(arguments.folder);
  if (!folder) return fail(std::move(folder).error().with_context("mcp"));
  mcp::AnswerLimits limits;
  limits.max_rows = std::max<std::size_t>(arguments.max_rows, 1);
  limits.max_bytes = static_cast<std::size_t>(std::max<std::uint64_t>(arguments.max_bytes, 1024));
  limits.timeout_ms = static_cast<std::int64_t>(std::ceil(std::clamp(arguments.timeout_s, 0.001, 1e6) * 1e3));
  limits.max_memory_bytes = common.max_memory;
  if (common.terminal.stderr_is_tty && !common.quiet)
    complain("mcp: answers on standard output what comes in on standard input; Ctrl-D ends it");
  mcp::Server server(mcp::Tools(std::move(*folder), limits));
  return serve(server);
}

}  // namespace

void add_mcp(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<McpArguments>();
  CLI::App* verb = app.add_subcommand("mcp", "Answer coding assistants over the Model Context Protocol; reads only");
  takes_file(verb->add_option("--folder", arguments->folder, "The folder whose files may be read, with its subfolders"))
      ->required()
      ->type_name("DIR");
  takes_whole_number<std::size_t>(
      verb->add_option("--max-rows", arguments->max_rows, "At most N rows in an answer (default 200)"), 1)
      ->type_name("N");
  verb->add_option("--max-bytes", arguments->max_bytes, "At most SIZE of text in an answer (default 256KiB)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE");
  takes_number_above_0(
      verb->add_option("--timeout", arguments->timeout_s, "End a query that takes longer than SECONDS (default 30)"))
      ->type_name("SECONDS");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] { result = run_mcp(common, *arguments); });
}

}  // namespace rangefinder::cli
