// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_target.hpp"
#include "exporter/chrome/text_output.hpp"

#include <rangefinder/exporters.hpp>

#include <functional>
#include <memory>
#include <string>

namespace rangefinder::chrome {

/// Makes what takes the events of an export, and writes to the output that it is given.
using MakeTarget = std::function<std::unique_ptr<EventTarget>(TextOutput& out)>;

/// What the public functions do: opens the output, compresses, reports. `make_target` null: Chrome JSON. Options say
/// what is exported; of the report, `json_bytes` are the bytes before compression, in whatever format.
Status export_file(const std::string& input, const std::string& output, const ChromeExportOptions& options,
                   ChromeExportReport* report, const MakeTarget& make_target = nullptr);
/// Launches of graphs recorded as a whole are divided in a copy, where there are any.
Status export_timeline(const Timeline& timeline, const std::string& output, const ChromeExportOptions& options,
                       ChromeExportReport* report, const MakeTarget& make_target = nullptr);

}  // namespace rangefinder::chrome
