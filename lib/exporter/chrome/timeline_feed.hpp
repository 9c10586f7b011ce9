// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_target.hpp"
#include "exporter/chrome/export_notes.hpp"
#include "exporter/chrome/text_output.hpp"

#include <rangefinder/exporters.hpp>

#include <cstdint>
#include <functional>

namespace rangefinder::chrome {

using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the whole document; returns how many events it holds. `target` null: JSON.
std::uint64_t write_timeline(const Timeline& timeline, const ChromeExportOptions& options, TextOutput& out,
                             ExportNotes& notes, const Progress& progress, EventTarget* target = nullptr);

}  // namespace rangefinder::chrome
