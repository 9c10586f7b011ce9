// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "cli/http_request.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::cli {

/// What the server has: one file under one path, which nobody can guess.
struct ServedFile {
  base::Fd body;  ///< a plain file, which may have no name
  std::uint64_t bytes = 0;
  std::string target;   ///< "/TOKEN/": every other path is 404
  std::string origin;   ///< the one page that may read it by script: "https://ui.perfetto.dev"; empty: only its own
  std::string headers;  ///< further ones of the answer, a CRLF behind each
};

/// 128 bits of the system's random source, as 32 hexadecimal digits.
Result<std::string> random_token();

/// Serves one file to browsers of this machine, by GET alone. Every request has to name the token in its path, and
/// 127.0.0.1 in its Host header: a page of somebody else that resolves its own name to 127.0.0.1 gets nothing (DNS
/// rebinding).
///
///   Result<PageServer> server = PageServer::listen(0);
///   server->serve(file, stop);  // until `stop` can be read
///
/// Errors:  kIo where the port is taken.
/// Threads: one. A client that sends or reads slowly does not keep others waiting, and is dropped after some seconds.
class PageServer {
 public:
  /// At 127.0.0.1 only; 0: a port that is free.
  static Result<PageServer> listen(std::uint16_t port);

  /// "127.0.0.1:41233".
  const std::string& host() const noexcept { return host_; }
  Status serve(const ServedFile& file, const base::Fd& stop) const;

 private:
  PageServer(base::Fd socket, std::string host) noexcept : socket_(std::move(socket)), host_(std::move(host)) {}

  base::Fd socket_;
  std::string host_;
};

/// An answer: its head, and whether the file follows.
struct HttpAnswer {
  std::string head;
  bool with_file = false;
};

/// What a request gets. `request` without a value: it could not be understood.
HttpAnswer answer_to(const std::optional<HttpRequest>& request, const ServedFile& file, std::string_view host);

}  // namespace rangefinder::cli
