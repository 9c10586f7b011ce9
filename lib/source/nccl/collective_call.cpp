// SPDX-License-Identifier: MIT
#include "source/nccl/collective_call.hpp"

#include <array>

namespace rangefinder::nccl {
namespace {

struct Datatype {
  std::string_view name;
  unsigned bytes;
};

// As nccl.h numbers them, and ncclDatatypeToString() (src/collectives.cc) names them.
constexpr std::array<Datatype, 12> kDatatypes = {{{"ncclInt8", 1},
                                                  {"ncclUint8", 1},
                                                  {"ncclInt32", 4},
                                                  {"ncclUint32", 4},
                                                  {"ncclInt64", 8},
                                                  {"ncclUint64", 8},
                                                  {"ncclFloat16", 2},
                                                  {"ncclFloat32", 4},
                                                  {"ncclFloat64", 8},
                                                  {"ncclBfloat16", 2},
                                                  {"ncclFloat8e4m3", 1},
                                                  {"ncclFloat8e5m2", 1}}};

// v1 has numbers where later versions have text: those of src/include/nccl_common.h of 2.23.
constexpr std::array<std::string_view, 8> kFunctions = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                                        "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr std::array<std::string_view, 7> kAlgorithms = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                         "NVLS_TREE", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "SIMPLE"};

/// NCCL says "Unknown" of what it has no name for.
std::string_view text(const char* given) noexcept {
  const std::string_view view = given != nullptr ? given : "";
  return view == "Unknown" ? std::string_view() : view;
}

template <std::size_t kCount>
std::string_view text(const std::array<std::string_view, kCount>& names, std::size_t number) noexcept {
  return number < kCount ? names[number] : std::string_view();
}

CollectiveKind kind_of(std::string_view function) noexcept {
  // Most frequent first.
  if (function == "AllReduce") return CollectiveKind::kAllReduce;
  if (function == "AllGather") return CollectiveKind::kAllGather;
  if (function == "ReduceScatter") return CollectiveKind::kReduceScatter;
  if (function == "Send") return CollectiveKind::kSend;
  if (function == "Recv") return CollectiveKind::kReceive;
  if (function == "Broadcast") return CollectiveKind::kBroadcast;
  if (function == "Reduce") return CollectiveKind::kReduce;
  if (function == "AlltoAll") return CollectiveKind::kAllToAll;
  if (function == "Gather") return CollectiveKind::kGather;
  if (function == "Scatter") return CollectiveKind::kScatter;
  return CollectiveKind::kOther;  // "SendRecv", "PutSignal" and what is to come
}

template <typename Event>
HostEvent with_texts(const Event& event) noexcept {
  HostEvent out;
  out.function = text(event.function);
  out.datatype = text(event.datatype);
  out.count = event.count;
  return out;
}

template <typename Event>
HostEvent collective_with_texts(const Event& event) noexcept {
  HostEvent out = with_texts(event);
  out.algorithm = text(event.algorithm);
  out.protocol = text(event.protocol);
  out.peer = event.root;
  return out;
}

template <typename Event>
HostEvent with_communicator(HostEvent out, const Event& event) noexcept {
  out.communicator_name = event.communicator_name != nullptr ? event.communicator_name : "";
  out.communicator_hash = event.communicator_hash;
  return out;
}

std::string_view name_of_datatype(std::uint32_t number) noexcept {
  return number < kDatatypes.size() ? kDatatypes[number].name : std::string_view();
}

}  // namespace

std::uint32_t datatype_of(const char* name) noexcept {
  const std::string_view wanted = name != nullptr ? name : "";
  for (std::uint32_t i = 0; i < kDatatypes.size(); ++i) {
    if (kDatatypes[i].name == wanted) return i;
  }
  return kUnknownDatatype;
}

HostEvent host_event(const CollectiveV1& event) noexcept {
  HostEvent out;
  out.function = text(kFunctions, event.function);
  out.datatype = name_of_datatype(event.datatype);
  out.algorithm = text(kAlgorithms, event.algorithm);
  out.protocol = text(kProtocols, event.protocol);
  out.count = event.count;
  out.peer = event.root;
  return with_communicator(out, event);
}
HostEvent host_event(const CollectiveV2& event) noexcept {
  return with_communicator(collective_with_texts(event), event);
}
HostEvent host_event(const CollectiveV3& event) noexcept {
  return with_communicator(collective_with_texts(event), event);
}
HostEvent host_event(const CollectiveV4& event) noexcept {
  HostEvent out = collective_with_texts(event);
  out.channels = event.channels;
  return out;
}
HostEvent host_event(const CollectiveV5& event) noexcept {
  HostEvent out = collective_with_texts(event);
  out.channels = event.channels;
  return out;
}

HostEvent host_event(const PointV1& event) noexcept {
  HostEvent out;
  out.function = text(kFunctions, event.function);
  out.datatype = name_of_datatype(event.datatype);
  out.count = event.count;
  out.peer = event.peer;
  return with_communicator(out, event);
}
HostEvent host_event(const PointV2& event) noexcept {
  HostEvent out = with_texts(event);
  out.peer = event.peer;
  return with_communicator(out, event);
}
HostEvent host_event(const PointV4& event) noexcept {
  HostEvent out = with_texts(event);
  out.peer = event.peer;
  out.channels = event.channels;
  return out;
}
HostEvent host_event(const PointV5& event) noexcept {
  HostEvent out = with_texts(event);
  out.peer = event.peer;
  out.channels = event.channels;
  return out;
}

HostEvent host_event(const CopyEngine& event) noexcept {
  HostEvent out = with_texts(event);
  out.algorithm = "COPY_ENGINE";
  out.protocol = text(event.sync_strategy);
  out.peer = event.root;
  return out;
}

detail::CollectiveCall collective_call(const HostEvent& event, int ranks, std::uint32_t called_with) noexcept {
  detail::CollectiveCall call;
  call.kind = kind_of(event.function);
  call.source = CollectiveSource::kNccl;
  call.name = event.function;
  call.dtype = event.datatype;
  call.algorithm = event.algorithm;
  call.protocol = event.protocol;
  call.channels = static_cast<std::int32_t>(event.channels);
  auto one = static_cast<std::int64_t>(event.count);
  const bool counts_bytes = call.kind == CollectiveKind::kAllGather || call.kind == CollectiveKind::kBroadcast;
  if (counts_bytes && event.datatype == "ncclInt8" && called_with < kDatatypes.size()) {
    one /= kDatatypes[called_with].bytes;
    call.dtype = kDatatypes[called_with].name;
  }
  const std::int64_t all = ranks > 0 ? one * ranks : -1;
  switch (call.kind) {
    case CollectiveKind::kAllGather:  // counts are of one rank's part
    case CollectiveKind::kGather:
      call.elements_in = one;
      call.elements_out = all;
      break;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter:
      call.elements_in = all;
      call.elements_out = one;
      break;
    case CollectiveKind::kAllToAll:
      call.elements_in = call.elements_out = all;
      break;
    default:
      call.elements_in = call.elements_out = one;
      break;
  }
  switch (call.kind) {
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
    case CollectiveKind::kOther:
      call.peer = event.peer;
      break;
    default:
      break;  // NCCL says root 0 where there is none
  }
  return call;
}

}  // namespace rangefinder::nccl
