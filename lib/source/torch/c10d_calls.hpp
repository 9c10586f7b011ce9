// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <string_view>

// What c10d tells of a collective, put into the recording.
namespace rangefinder::torch {

/// A call that begins.
struct BegunCall {
  std::uint32_t handle = 0;     ///< in the recording; 0: not recorded
  void* messages_of = nullptr;  ///< of a send or receive: its group, for `end_message`
};

/// Of one of c10d's operators, `name` without "c10d::", by its inputs. Throws where no memory is left.
BegunCall begin_operator_call(const at::RecordFunction& function, std::string_view name);
/// A send or receive has been called. Gloo numbers them together with its collectives.
void end_message(void* messages_of) noexcept;

/// Of what a backend tells by itself (record_param_comms). 0: it is no collective. Throws as before.
std::uint32_t begin_told_call();
/// A backend tells of a part of the call `handle`, with the number by which it tells of waiting later.
void remember_told(const at::RecordFunction& function, std::uint32_t handle);
/// The call that a backend tells the waiting for; 0: another thing is told, or that call is not known.
std::uint32_t find_told_wait(const at::RecordFunction& function);

}  // namespace rangefinder::torch
