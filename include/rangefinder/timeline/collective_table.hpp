// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace rangefinder {

/// A process group of PyTorch, or a communicator of NCCL. Processes of a job that are in it share its row.
struct ProcessGroupInfo {
  CollectiveSource source = CollectiveSource::kC10d;
  std::string name;                 ///< c10d's name of the group, or NCCL's hash of the communicator
  std::string description;          ///< "default_pg"; may be empty
  std::vector<std::int64_t> ranks;  ///< of the job, in the order of the group; empty: not known
  std::int32_t size = 0;            ///< 0: not known
};

/// One process' part of a collective, or of a send or receive.
struct CollectiveRow {
  using Table = class CollectiveTable;

  CollectiveKind kind = CollectiveKind::kOther;
  CollectiveSource source = CollectiveSource::kC10d;
  StringId name = StringId::kEmpty;  ///< as its library calls it, "allreduce"; of a kernel alone that kernel's
  ProcessIndex process{0};
  ProcessGroupIndex group = kNone;
  std::int64_t number = -1;       ///< among the collectives of its group; -1: not known
  std::int64_t elements_in = -1;  ///< of this rank; -1: not known
  std::int64_t elements_out = -1;
  StringId dtype = StringId::kEmpty;      ///< as its library calls it: "Float", "long int", "ncclBfloat16"
  std::int32_t peer = -1;                 ///< rank within the group: the root, or the other end; -1: none
  StringId in_splits = StringId::kEmpty;  ///< of an all-to-all with unequal parts: "[3, 5]"
  StringId out_splits = StringId::kEmpty;
  ThreadIndex thread = kNone;           ///< that called it; kNone: the call is not in the data
  std::int64_t begin_ns = kNoTime;      ///< of the call
  std::int64_t end_ns = kNoTime;        ///< of the call; kNoTime: it did not return
  std::int64_t started_ns = kNoTime;    ///< its work, where the library told: on a thread of the host, or a device
  std::int64_t completed_ns = kNoTime;  ///< likewise
  ThreadIndex wait_thread = kNone;      ///< that waited for it last; kNone: none was seen to
  std::int64_t wait_begin_ns = kNoTime;
  std::int64_t wait_end_ns = kNoTime;
  StringId algorithm = StringId::kEmpty;  ///< NCCL's: "RING", "TREE"
  StringId protocol = StringId::kEmpty;   ///< NCCL's: "LL", "LL128", "SIMPLE"
  std::int32_t channels = 0;              ///< NCCL's; 0: not known
};

/// Collectives by process, in the order of their calls. ActivityTable::collective leads from kernels to them.
class CollectiveTable : public detail::Table<CollectiveTable, CollectiveRow> {
 public:
  TableColumn<&CollectiveRow::kind> kind;
  OptionalTableColumn<&CollectiveRow::source> source;
  TableColumn<&CollectiveRow::name> name;
  TableColumn<&CollectiveRow::process> process;
  TableColumn<&CollectiveRow::group> group;
  OptionalTableColumn<&CollectiveRow::number> number;
  OptionalTableColumn<&CollectiveRow::elements_in> elements_in;
  OptionalTableColumn<&CollectiveRow::elements_out> elements_out;
  OptionalTableColumn<&CollectiveRow::dtype> dtype;
  OptionalTableColumn<&CollectiveRow::peer> peer;
  OptionalTableColumn<&CollectiveRow::in_splits> in_splits;
  OptionalTableColumn<&CollectiveRow::out_splits> out_splits;
  TableColumn<&CollectiveRow::thread> thread;
  TableColumn<&CollectiveRow::begin_ns> begin_ns;
  TableColumn<&CollectiveRow::end_ns> end_ns;
  OptionalTableColumn<&CollectiveRow::started_ns> started_ns;
  OptionalTableColumn<&CollectiveRow::completed_ns> completed_ns;
  OptionalTableColumn<&CollectiveRow::wait_thread> wait_thread;
  OptionalTableColumn<&CollectiveRow::wait_begin_ns> wait_begin_ns;
  OptionalTableColumn<&CollectiveRow::wait_end_ns> wait_end_ns;
  OptionalTableColumn<&CollectiveRow::algorithm> algorithm;
  OptionalTableColumn<&CollectiveRow::protocol> protocol;
  OptionalTableColumn<&CollectiveRow::channels> channels;

  /// Appends in order of input; `sort` puts the rows in the order of processes and calls.
  void sort();

 private:
  friend detail::Table<CollectiveTable, CollectiveRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.kind, self.source, self.name, self.process, self.group, self.number, self.elements_in,
                    self.elements_out, self.dtype, self.peer, self.in_splits, self.out_splits, self.thread,
                    self.begin_ns, self.end_ns, self.started_ns, self.completed_ns, self.wait_thread,
                    self.wait_begin_ns, self.wait_end_ns, self.algorithm, self.protocol, self.channels);
  }
};

}  // namespace rangefinder
