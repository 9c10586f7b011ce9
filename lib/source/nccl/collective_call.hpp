// SPDX-License-Identifier: MIT
#pragma once

#include "source/nccl/profiler_api.hpp"

#include <rangefinder/detail/collectives.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rangefinder::nccl {

/// Numbers of ncclDataType_t.
inline constexpr std::uint32_t kUnknownDatatype = 0xFF;
/// By NCCL's name; kUnknownDatatype where it has none: NCCL calls ncclUint8 "Unknown".
std::uint32_t datatype_of(const char* name) noexcept;

/// What all versions say of a collective, a send or a receive, as far as each does.
struct HostEvent {
  std::string_view function;  ///< "AllReduce", "Send"
  std::string_view datatype;
  std::string_view algorithm;
  std::string_view protocol;
  std::size_t count = 0;               ///< as NCCL's function has it, see collective_call()
  int peer = -1;                       ///< root, or the other end
  std::uint32_t channels = 0;          ///< 0: not known. v1 to v3 know but how many there may be
  std::string_view communicator_name;  ///< v1 to v3; later ones say it once, to init
  std::uint64_t communicator_hash = 0;
};
HostEvent host_event(const CollectiveV1& event) noexcept;
HostEvent host_event(const CollectiveV2& event) noexcept;
HostEvent host_event(const CollectiveV3& event) noexcept;
HostEvent host_event(const CollectiveV4& event) noexcept;
HostEvent host_event(const CollectiveV5& event) noexcept;
HostEvent host_event(const PointV1& event) noexcept;
HostEvent host_event(const PointV2& event) noexcept;
HostEvent host_event(const PointV4& event) noexcept;
HostEvent host_event(const PointV5& event) noexcept;
HostEvent host_event(const CopyEngine& event) noexcept;

/// All of it but group and number. `ranks` of the communicator; 0: not known. `called_with`: the datatype that the
/// program gave, where that is known (v5 on). NCCL itself counts bytes, as ncclInt8, for all-gather and broadcast.
detail::CollectiveCall collective_call(const HostEvent& event, int ranks, std::uint32_t called_with) noexcept;

}  // namespace rangefinder::nccl
