// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rangefinder::cli {

/// The words of a command that shows `url`: of the variable BROWSER ("firefox", "chromium --new-window %s"; of several
/// behind colons the first), else xdg-open where there is a display. Nothing where neither is there.
std::optional<std::vector<std::string>> browser_command(const std::string& url);

/// Runs the command, a process of its own that outlives this one and writes nothing to our terminal. Whether it could
/// be started is not known: people have the link.
void start_apart(const std::vector<std::string>& words) noexcept;

}  // namespace rangefinder::cli
