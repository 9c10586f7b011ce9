// SPDX-License-Identifier: MIT
#include "cli/file_report.hpp"
#include "cli/values.hpp"

#include <memory>

namespace rangefinder::cli {

void add_advise(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<FileReport>();
  arguments->report.view = "advice";
  CLI::App* verb = app.add_subcommand("advise", "Show what to change so that steps get shorter, and what it gains");
  add_files(*verb, *arguments)->required();
  takes_file(verb->add_option("--peaks", arguments->peaks,
                              "Peaks of the machine, the file that `rangefinder measure-peaks` wrote (default: data "
                              "sheets of known devices)"))
      ->type_name("FILE");
  add_report_options(*verb, *arguments);
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] {
    check_formats(common, *arguments);
    result = write_file_report(common, *arguments);
  });
}

}  // namespace rangefinder::cli
