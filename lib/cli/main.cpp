// SPDX-License-Identifier: MIT
#include "cli/command.hpp"

#include <rangefinder/version.hpp>

#include <csignal>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  namespace cli = rangefinder::cli;
  // A reader that has seen enough (head) ends us quietly.
  std::signal(SIGPIPE, SIG_DFL);
  cli::Common common;
  common.terminal = cli::Terminal::detect();
  int result = cli::kSuccess;
  CLI::App app{"rangefinder: which part of your code the GPU's time belongs to, and why it is slow", "rangefinder"};
  app.set_version_flag("--version", std::string("rangefinder ") + rangefinder::version());
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("rangefinder: ") + error.what() + "\nRun with --help for more.\n";
  });
  cli::add_report(app, common, result);
  cli::add_export(app, common, result);
  cli::add_info(app, common, result);
  cli::add_check(app, common, result);
  cli::add_doctor(app, common, result);
  cli::add_completion(app, common, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::kSuccess : cli::kUsage;
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
