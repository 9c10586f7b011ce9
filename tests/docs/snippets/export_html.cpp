// SPDX-License-Identifier: MIT
// docs/how-to/look-at-a-page.md
#include <rangefinder/exporters.hpp>

rangefinder::Status status = rangefinder::export_html("train.rfcap", "report.html");
