// SPDX-License-Identifier: MIT
#include "session/left_out_domains.hpp"

#include "base/left_out_domains.hpp"
#include "session/session_core.hpp"

#include <rangefinder/detail/nvtx.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

namespace rangefinder::session {
namespace {

struct Name {
  char text[256];
  std::size_t size;
  std::atomic<bool> ready;  // stored after the text, loaded before it
};

constexpr std::size_t kMaxNamed = 16;
Name named[kMaxNamed];  // without a lock: a child of fork could find it taken
std::atomic<std::size_t> count{0};

}  // namespace

void write_left_out_domains(CaptureWriter& writer) noexcept {
  const std::size_t total = count.load(std::memory_order_relaxed);
  if (total == 0) return;
  char key[48], number[24];
  for (std::size_t i = 0; i < std::min(total, kMaxNamed); ++i) {
    if (!named[i].ready.load(std::memory_order_acquire)) continue;
    std::snprintf(key, sizeof key, "%s%zu", base::kLeftOutDomain.data(), i + 1);
    writer.meta(key, {named[i].text, named[i].size});
  }
  std::snprintf(number, sizeof number, "%zu", total);
  writer.meta(base::kLeftOutDomains, number);
}

}  // namespace rangefinder::session

void rangefinder::detail::domain_left_out(std::string_view name) noexcept {
  using namespace rangefinder::session;
  const std::size_t at = count.fetch_add(1, std::memory_order_relaxed);
  if (at < kMaxNamed) {
    named[at].size = std::min(name.size(), sizeof named[at].text);
    std::memcpy(named[at].text, name.data(), named[at].size);
    named[at].ready.store(true, std::memory_order_release);
  }
  // At once, for a program that is killed.
  if (const std::shared_ptr<SessionCore> recording = current_session(); recording != nullptr)
    write_left_out_domains(recording->writer());
}
