// SPDX-License-Identifier: MIT
#include "cli/page_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <list>
#include <vector>

namespace rangefinder::cli {
namespace {

constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kLongestHead = 16 << 10;
constexpr std::int64_t kHeadMs = 10'000;   // in which the head of a request has to come
constexpr std::int64_t kSendMs = 60'000;   // without a byte that could be sent
constexpr std::int64_t kLingerMs = 2'000;  // for what a client still sends behind its request

std::int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// In a time that does not depend on how much of it is right.
bool is_same(std::string_view a, std::string_view b) noexcept {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return differs == 0;
}

std::string head_of(std::string_view status, std::uint64_t bytes, std::string_view further) {
  std::string head = "HTTP/1.1 ";
  head.append(status).append("\r\nContent-Length: ").append(std::to_string(bytes));
  head +=
      "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n";
  return head.append(further).append("\r\n");
}

HttpAnswer refusal(std::string_view status, std::string_view text, std::string_view further = {}) {
  std::string headers =
      "Content-Type: text/plain; charset=utf-8\r\n"
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";
  headers.append(further);
  HttpAnswer answer{head_of(status, text.size(), headers)};
  answer.head.append(text);
  return answer;
}

/// A client: first its request is read, then the answer sent, then what else it sends is thrown away until it closes,
/// because closing earlier would cut off the answer.
struct Connection {
  enum class State : std::uint8_t { kReading, kSending, kLingering, kDone } state = State::kReading;
  base::Fd fd;
  std::int64_t deadline_ms = 0;
  std::string received;
  HttpAnswer answer;
  std::size_t head_sent = 0;
  off_t body_sent = 0;

  short wanted() const noexcept { return state == State::kSending ? POLLOUT : POLLIN; }
};

bool would_wait() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

void receive(Connection& client, const ServedFile& file, std::string_view host) {
  std::array<char, 4096> piece;
  const ssize_t got = ::recv(client.fd.get(), piece.data(), piece.size(), 0);
  if (got < 0 && would_wait()) return;
  if (got <= 0) {
    client.state = Connection::State::kDone;
    return;
  }
  client.received.append(piece.data(), static_cast<std::size_t>(got));
  const std::optional<std::size_t> end = end_of_head(client.received);
  if (!end && client.received.size() < kLongestHead) return;
  const std::string_view head = std::string_view(client.received).substr(0, end.value_or(0));
  client.answer = answer_to(end ? parse_request(head) : std::nullopt, file, host);
  client.state = Connection::State::kSending;
  client.deadline_ms = now_ms() + kSendMs;
}

/// How many bytes went out; 0: the client is not ready, or gone.
ssize_t send_some(Connection& client, const ServedFile& file) noexcept {
  const std::string& head = client.answer.head;
  if (client.head_sent < head.size()) {
    const ssize_t sent =
        ::send(client.fd.get(), head.data() + client.head_sent, head.size() - client.head_sent, MSG_NOSIGNAL);
    if (sent > 0) client.head_sent += static_cast<std::size_t>(sent);
    return sent;
  }
  constexpr std::uint64_t kPiece = 1 << 20;
  const std::uint64_t left = file.bytes - static_cast<std::uint64_t>(client.body_sent);
  return ::sendfile(client.fd.get(), file.body.get(), &client.body_sent, std::min(left, kPiece));
}

void send(Connection& client, const ServedFile& file) noexcept {
  const ssize_t sent = send_some(client, file);
  if (sent < 0 && would_wait()) return;
  if (sent <= 0) {
    client.state = Connection::State::kDone;
    return;
  }
  client.deadline_ms = now_ms() + kSendMs;
  const std::uint64_t of_file = client.answer.with_file ? file.bytes : 0;
  if (client.head_sent < client.answer.head.size() || static_cast<std::uint64_t>(client.body_sent) < of_file) return;
  ::shutdown(client.fd.get(), SHUT_WR);
  client.state = Connection::State::kLingering;
  client.deadline_ms = now_ms() + kLingerMs;
}

void linger(Connection& client) noexcept {
  std::array<char, 4096> piece;
  const ssize_t got = ::recv(client.fd.get(), piece.data(), piece.size(), 0);
  if (got == 0 || (got < 0 && !would_wait())) client.state = Connection::State::kDone;
}

void advance(Connection& client, const ServedFile& file, std::string_view host) {
  switch (client.state) {
    case Connection::State::kReading:
      return receive(client, file, host);
    case Connection::State::kSending:
      return send(client, file);
    case Connection::State::kLingering:
      return linger(client);
    case Connection::State::kDone:
      return;
  }
}

void accept_one(const base::Fd& socket, std::list<Connection>& clients) {
  base::Fd fd(::accept4(socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd.valid()) return;
  Connection& client = clients.emplace_back();
  client.fd = std::move(fd);
  client.deadline_ms = now_ms() + kHeadMs;
}

}  // namespace

Result<std::string> random_token() {
  std::array<unsigned char, 16> bits{};
  if (::getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size()))
    return base::system_error("getrandom", "", errno);
  std::string token;
  for (const unsigned char byte : bits) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

HttpAnswer answer_to(const std::optional<HttpRequest>& request, const ServedFile& file, std::string_view host) {
  if (!request || !request->host) return refusal("400 Bad Request", "not a request that is understood here\n");
  const std::string by_name = "localhost" + std::string(host.substr(host.find(':')));
  if (*request->host != host && *request->host != by_name)
    return refusal("403 Forbidden", "for this machine alone: wrong Host\n");
  const std::string own = "http://" + std::string(*request->host);
  if (request->origin && *request->origin != own && (file.origin.empty() || *request->origin != file.origin))
    return refusal("403 Forbidden", "not for pages of others: wrong Origin\n");
  if (request->method != "GET") return refusal("405 Method Not Allowed", "GET only\n", "Allow: GET\r\n");
  if (!is_same(request->target, file.target)) return refusal("404 Not Found", "nothing here\n");
  std::string further = file.headers;
  if (!file.origin.empty()) further += "Access-Control-Allow-Origin: " + file.origin + "\r\nVary: Origin\r\n";
  return {head_of("200 OK", file.bytes, further), true};
}

Result<PageServer> PageServer::listen(std::uint16_t port) {
  base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return base::system_error("socket", "", errno);
  const int on = 1;  // connections of an earlier server that are still being closed do not hold the port
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(socket.get(), generic, size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    return base::system_error("listen at", "127.0.0.1:" + std::to_string(port), errno);
  if (::getsockname(socket.get(), generic, &size) != 0) return base::system_error("getsockname", "", errno);
  return PageServer(std::move(socket), "127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
}

Status PageServer::serve(const ServedFile& file, const base::Fd& stop) const {
  std::list<Connection> clients;
  while (true) {
    std::vector<pollfd> waiting{{stop.get(), POLLIN, 0}};
    // A client too many waits in the queue of the system.
    waiting.push_back({clients.size() < kMostConnections ? socket_.get() : -1, POLLIN, 0});
    for (const Connection& client : clients) waiting.push_back({client.fd.get(), client.wanted(), 0});
    constexpr int kTickMs = 1000;  // for deadlines
    const int ready = ::poll(waiting.data(), waiting.size(), clients.empty() ? -1 : kTickMs);
    if (ready < 0 && errno != EINTR) return base::system_error("poll", "", errno);
    if (ready > 0 && waiting[0].revents != 0) return {};
    auto client = clients.begin();
    for (std::size_t i = 2; i < waiting.size() && ready > 0; ++i, ++client)
      if (waiting[i].revents != 0) advance(*client, file, host_);
    const std::int64_t now = now_ms();
    clients.remove_if(
        [now](const Connection& one) { return one.state == Connection::State::kDone || one.deadline_ms < now; });
    if (ready > 0 && waiting[1].revents != 0) accept_one(socket_, clients);
  }
}

}  // namespace rangefinder::cli
