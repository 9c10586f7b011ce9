// SPDX-License-Identifier: MIT
// Parts of steps, added up: what the bars of steps show.

/// Rows [from, to) of the table added up: the parts in order, the rest, the total; ns.
export function added_up(columns, totals, from, to) {
  const parts = columns.map(() => 0);
  let total = 0;
  for (let row = from; row < to; ++row) {
    total += totals[row];
    for (let part = 0; part < columns.length; ++part) parts[part] += columns[part][row];
  }
  const rest = Math.max(0, total - parts.reduce((sum, part) => sum + part, 0));
  return {parts, rest, total};
}

/// At most `most` bars of equally many rows each: {from, to}. Few enough to be told apart.
export function bins_of_rows(first_row, rows, most) {
  const size = Math.max(1, Math.ceil(rows / Math.max(1, most)));
  const bins = [];
  for (let from = 0; from < rows; from += size)
    bins.push({from: first_row + from, to: first_row + Math.min(from + size, rows)});
  return bins;
}
