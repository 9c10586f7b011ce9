// SPDX-License-Identifier: MIT
#pragma once

#include "compare/path_alignment.hpp"
#include "compare/side.hpp"
#include "compare/time_parts.hpp"

#include <rangefinder/compare.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::compare {

/// The time of one row on both sides, as sums over steps, and the parts of its change.
struct DividedRow {
  Amounts baseline, candidate;
  TimeParts parts;
  bool occurs = false;
};

/// Divides the difference of two sides, row by row, from the finest cells up: kernels of one name are compared under
/// one operator in one path. Those whose names are on one side only, as of another architecture, are compared with each
/// other where they are of one family, and else all that are left of the operator.
///
/// Rows of paths are numbered as the candidate's, and behind these those of the baseline that are gone; other rows by
/// the names of both sides.
class DividedRows {
 public:
  DividedRows(const Side& baseline, const Side& candidate);

  const std::vector<DividedRow>& rows(SubjectKind kind) const noexcept { return rows_[static_cast<std::size_t>(kind)]; }
  const PathAlignment& paths() const noexcept { return paths_; }
  /// Of a row: its numbers on both sides; kNone: it is not there.
  std::pair<std::uint32_t, std::uint32_t> sides_of(SubjectKind kind, std::uint32_t row) const noexcept;

 private:
  /// A cell whose numbers are those of rows; a side that has none of it has no amounts.
  struct PairedCell {
    std::array<std::uint32_t, kSubjectKinds> row;  // kNone: in none
    std::uint64_t kernel = 0;
    Amounts baseline, candidate;
  };

  void number_names(SubjectKind kind, const std::vector<std::string>& baseline,
                    const std::vector<std::string>& candidate);
  std::vector<PairedCell> paired_cells() const;
  void add_place(std::span<const PairedCell> cells);
  void add_family(std::span<const PairedCell> cells, DividedRow& place, PairedCell& alone);
  void add_to_paths(std::uint32_t path, const DividedRow& whole, const DividedRow& left, const DividedRow& come);
  void add(SubjectKind kind, std::uint32_t row, const DividedRow& amounts);
  std::uint32_t row_of_path(bool of_candidate, std::uint32_t path) const noexcept;
  DividedRow divided_if_on_both(const PairedCell& cell) const noexcept;
  DividedRow divided(const Amounts& baseline, const Amounts& candidate, bool is_there) const noexcept;

  const Side& baseline_;
  const Side& candidate_;
  PathAlignment paths_;
  std::array<std::vector<DividedRow>, kSubjectKinds> rows_;
  /// By kind: the row of each number of a side, and back.
  std::array<std::vector<std::uint32_t>, kSubjectKinds> baseline_row_, candidate_row_;
  std::array<std::vector<std::pair<std::uint32_t, std::uint32_t>>, kSubjectKinds> sides_;
};

}  // namespace rangefinder::compare
