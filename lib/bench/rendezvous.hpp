// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace rangefinder::bench {

/// A folder of this user's own (0700) for the files in which ranks find each other; gone with its object. Files, not
/// ports: nobody has to choose a number that is free, and nobody else can connect.
class Rendezvous {
 public:
  static Result<Rendezvous> create();
  Rendezvous(Rendezvous&& other) noexcept : folder_(std::exchange(other.folder_, {})), count_(other.count_) {}
  Rendezvous& operator=(Rendezvous&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Rendezvous();

  /// The path of a file that is not there: of the processes, for what meets once in their lives.
  std::string of_processes() const { return folder_ + "/store"; }
  /// Another one for each variant: a file that ranks have met in names some that are gone.
  std::string next() { return of_processes() + "-" + std::to_string(++count_); }

 private:
  explicit Rendezvous(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::uint64_t count_ = 0;
};

}  // namespace rangefinder::bench
