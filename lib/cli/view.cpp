// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "cli/browser.hpp"
#include "cli/command.hpp"
#include "cli/page_server.hpp"
#include "cli/unnamed_file.hpp"
#include "cli/values.hpp"

#include <rangefinder/exporters.hpp>

#include <fmt/format.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace rangefinder::cli {
namespace {

// Perfetto's interface may fetch traces from this port of this machine alone (its content security policy), as its
// script tools/open_trace_in_ui uses it.
constexpr std::uint16_t kPerfettoPort = 9001;
constexpr const char* kPerfetto = "https://ui.perfetto.dev";

struct ViewArguments {
  std::string input;
  std::string peaks;
  Attribution attribution = Attribution::kAuto;
  std::uint16_t port = 0;
  bool perfetto = false;
  bool no_open = false;
};

/// The page of our own, under "/TOKEN/".
Result<ServedFile> make_page(const Common& common, const ViewArguments& arguments, const std::string& token) {
  Progress progress(common.terminal, common.shows_progress(), "reading " + arguments.input);
  HtmlExportOptions options;
  options.attribution = arguments.attribution;
  options.max_memory_bytes = common.max_memory;
  progress.watch(options);
  const Result<std::optional<MachinePeaks>> peaks = peaks_of(arguments.peaks);
  if (!peaks) return peaks.error();
  options.peaks = *peaks ? &**peaks : nullptr;
  HtmlExportReport report;
  Result<UnnamedFile> file =
      write_unnamed([&](const std::string& output) { return export_html(arguments.input, output, options, &report); });
  if (!file) return std::move(file).error();
  ServedFile page{std::move(file->fd), file->bytes, "/" + token + "/", {}, {}};
  page.headers = "Content-Type: text/html; charset=utf-8\r\nContent-Security-Policy: " + report.policy +
                 "; frame-ancestors 'none'\r\nCross-Origin-Opener-Policy: same-origin\r\n"
                 "Cross-Origin-Resource-Policy: same-origin\r\n";
  return page;
}

/// A trace that Perfetto's interface fetches, under "/TOKEN/trace.pftrace.gz".
Result<ServedFile> make_trace(const Common& common, const ViewArguments& arguments, const std::string& token) {
  Progress progress(common.terminal, common.shows_progress(), "exporting " + arguments.input);
  PerfettoExportOptions options;
  options.attribution = arguments.attribution;
  options.compression = ExportCompression::kGzip;
  options.gpu = PerfettoGpu::kLinkedStages;  // that interface is the current one
  options.max_memory_bytes = common.max_memory;
  progress.watch(options);
  Result<UnnamedFile> file =
      write_unnamed([&](const std::string& output) { return export_perfetto_trace(arguments.input, output, options); });
  if (!file) return std::move(file).error();
  return ServedFile{std::move(file->fd), file->bytes, "/" + token + "/trace.pftrace.gz", kPerfetto,
                    "Content-Type: application/gzip\r\nContent-Security-Policy: default-src 'none'; "
                    "frame-ancestors 'none'\r\nCross-Origin-Resource-Policy: cross-origin\r\n"};
}

/// What becomes readable when somebody wants us to end.
Result<base::Fd> end_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  base::Fd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return base::system_error("signalfd", "", errno);
  return fd;
}

void say_where(const Common& common, const ViewArguments& arguments, const std::string& url, bool opened) {
  if (common.json) {
    write_stdout(fmt::format("{{\"schema_version\":1,\"url\":{},\"opened\":{}}}\n", json_string(url), opened));
  } else {
    write_stdout(url + "\n");
    if (!common.quiet)
      write_stdout(fmt::format("{}: {}; Ctrl-C ends it\n", base::printable(arguments.input),
                               opened ? "shown in the browser" : "open the link in a browser of this machine"));
  }
  std::fflush(stdout);
}

int run_view(const Common& common, const ViewArguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // a browser that closes its connection does not end us
  bound_memory(common);
  if (common.strict) {
    if (const Status status = check_complete(common, arguments.input); !status.ok()) return fail(status.error());
  }
  const Result<PageServer> server = PageServer::listen(arguments.perfetto ? kPerfettoPort : arguments.port);
  if (!server) return fail(server.error().with_context("view"));
  const Result<std::string> token = random_token();
  if (!token) return fail(token.error().with_context("view"));
  const Result<ServedFile> file =
      arguments.perfetto ? make_trace(common, arguments, *token) : make_page(common, arguments, *token);
  if (!file) return fail(file.error().with_context("view"));
  const Result<base::Fd> stop = end_signals();
  if (!stop) return fail(stop.error().with_context("view"));
  std::string url = "http://" + server->host() + file->target;
  if (arguments.perfetto) url = std::string(kPerfetto) + "/#!/?url=" + url;
  std::optional<std::vector<std::string>> browser;
  if (!arguments.no_open) browser = browser_command(url);
  if (browser) start_apart(*browser);
  say_where(common, arguments, url, browser.has_value());
  const Status status = server->serve(*file, *stop);
  return status.ok() ? kSuccess : fail(status.error().with_context("view"));
}

}  // namespace

void add_view(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<ViewArguments>();
  CLI::App* verb = app.add_subcommand("view", "Show a recording in the browser, from this machine alone");
  verb->add_option("FILE", arguments->input, "A capture, a folder of captures, a trace or an export")
      ->required()
      ->type_name("");
  verb->add_flag("--no-open", arguments->no_open, "Print the link, and do not open the browser");
  takes_whole_number(verb->add_option("--port", arguments->port, "The port at 127.0.0.1 (default: one that is free)"),
                     0, 65535)
      ->type_name("PORT");
  takes_file(verb->add_option("--peaks", arguments->peaks,
                              "For the roofline: the file that `rangefinder measure-peaks` wrote"))
      ->type_name("FILE");
  verb->add_flag("--perfetto", arguments->perfetto,
                 "Serve the trace for Perfetto's own interface, ui.perfetto.dev, at port 9001");
  add_attribution(*verb, arguments->attribution,
                  "Attribution of device work: auto (default), launch, forward or capture");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] {
    if (arguments->perfetto && !arguments->peaks.empty())
      throw CLI::ValidationError("--peaks is for the page, which --perfetto does not show");
    if (arguments->perfetto && arguments->port != 0)
      throw CLI::ValidationError("--port: Perfetto's interface fetches from port 9001 alone");
    result = run_view(common, *arguments);
  });
}

}  // namespace rangefinder::cli
