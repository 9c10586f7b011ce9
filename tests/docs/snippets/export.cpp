// SPDX-License-Identifier: MIT
// docs/how-to/export-chrome-trace.md
#include <rangefinder/exporters.hpp>

rangefinder::Status status = rangefinder::export_chrome_trace("train.rfcap", "train.pt.trace.json.gz");
