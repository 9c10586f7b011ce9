// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/html/page_input.hpp"

#include <rangefinder/result.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace rangefinder::html {

/// Takes the page piece by piece, in order.
using PageSink = std::function<Status(std::string_view)>;

/// Writes the whole page. `title`: what the recording is called. Names and words of the recording stand in it as JSON
/// and as base64 alone, never as HTML.
Status write_page(const PageInput& input, std::string_view title, const PageSink& sink, HtmlExportReport& report);

/// The content security policy that the page states about itself, for the header of a server.
std::string page_policy();

}  // namespace rangefinder::html
