// SPDX-License-Identifier: MIT
// docs/how-to/export-perfetto-trace.md
#include <rangefinder/exporters.hpp>

rangefinder::Status status = rangefinder::export_perfetto_trace("train.rfcap", "train.pftrace");
