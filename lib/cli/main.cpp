// SPDX-License-Identifier: MIT
#include "cli/command.hpp"
#include "cli/usage.hpp"

#include <rangefinder/version.hpp>

#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  namespace cli = rangefinder::cli;
  // glibc raises this bound to 32 MiB as blocks are freed, and what tables outgrew below it stays in use: a tenth of
  // the memory of a large report.
  (void)::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // A reader that has seen enough (head) ends us quietly. What is recorded has what we were given.
  if (argc < 2 || std::string_view(argv[1]) != "record") std::signal(SIGPIPE, SIG_DFL);
  cli::Common common;
  common.terminal = cli::Terminal::detect();
  int result = cli::kSuccess;
  CLI::App app{"rangefinder: how much GPU time each part of your code costs", "rangefinder"};
  app.set_version_flag("--version", std::string("rangefinder ") + rangefinder::version());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success; 1 check, doctor or gate found a problem; 2 wrong use or unreadable input; 3 incomplete\n"
      "input, with --strict; 4 gate cannot tell; 70 internal error. record exits with its program's status, or with "
      "125\n"
      "if it could not start. bench has its own codes: see bench --help.");
#if RANGEFINDER_RECORDING
  std::vector<std::string> program;
  cli::add_record(app, common, result, program);
#endif
  cli::add_report(app, common, result);
  cli::add_advise(app, common, result);
  cli::add_export(app, common, result);
  cli::add_view(app, common, result);
  cli::add_info(app, common, result);
  cli::add_query(app, common, result);
  cli::add_mcp(app, common, result);
  cli::add_fleet(app, common, result);
  cli::add_diff(app, common, result);
  cli::add_gate(app, common, result);
  cli::add_check(app, common, result);
  cli::add_doctor(app, common, result);
  cli::add_bench(app, common, result);
  cli::add_measure_peaks(app, common, result);
  cli::add_completion(app, common, result);
#if RANGEFINDER_RECORDING
  argc = cli::cut_program(app, argc, argv, program);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    cli::complain(cli::usage_message(app, error, argc, argv));
    return cli::usage_code(argc, argv);
  } catch (const std::bad_alloc&) {
    return cli::fail(cli::out_of_memory(common));
  } catch (const std::exception& error) {
    cli::complain(std::string("internal error: ") + error.what());
    return cli::kInternal;
  }
  if (std::fflush(stdout) != 0) {
    cli::complain("cannot write to stdout");
    return cli::kUsage;
  }
  return result;
}
