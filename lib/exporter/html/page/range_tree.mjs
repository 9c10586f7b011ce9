// SPDX-License-Identifier: MIT
// The tree of ranges: rows in preorder with a depth, as the file has them, and what the table and the flame graph of it
// show.
import {BadData} from './bytes.mjs';

export class RangeTree {
  constructor(table, names) {
    this.names = names;
    this.count = table.rows;
    this.depths = table.column('depth', Uint32Array);
    this.name_ids = table.column('name', Uint32Array);
    this.counts = table.column('count');
    this.has_device = table.has('gpu_busy_ns');
    this.host_ns = table.column('host_ns');
    this.host_self_ns = table.column('host_self_ns');
    this.gpu_busy_ns = table.column_or_zeros('gpu_busy_ns');
    this.gpu_self_ns = table.column_or_zeros('gpu_self_ns');
    this.gpu_ops = table.column_or_zeros('gpu_ops');
    this.begin_ns = table.column_or_zeros('begin_ns');
    this.duration_ns = table.column_or_zeros('duration_ns');
    this.link_();
  }

  link_() {
    this.parents = new Int32Array(this.count);
    this.ends = new Uint32Array(this.count).fill(this.count);  // one past the last row below a row
    const open = [];
    for (let row = 0; row < this.count; ++row) {
      const depth = this.depths[row];
      if (depth > open.length) throw new BadData(`row ${row} of the tree of ranges has no parent`);
      while (open.length > depth) this.ends[open.pop()] = row;
      this.parents[row] = open.length === 0 ? -1 : open[open.length - 1];
      open.push(row);
    }
  }

  name(row) { return this.names[this.name_ids[row]] ?? ''; }
  has_children(row) { return this.ends[row] > row + 1; }

  children(row) {
    const children = [];
    const end = row < 0 ? this.count : this.ends[row];
    for (let child = row + 1; child < end; child = this.ends[child]) children.push(child);
    return children;
  }

  /// Rows from the root to this one.
  ancestors(row) {
    const path = [];
    for (let at = row; at >= 0; at = this.parents[at]) path.unshift(at);
    return path;
  }

  path(row) { return this.ancestors(row).map((at) => this.name(at)).join(' / '); }

  /// `host` or `device`.
  values(what) { return what === 'device' ? this.gpu_busy_ns : this.host_ns; }

  /// Rows that a table of the tree shows: children of open rows, the most expensive first.
  visible_rows(open, what) {
    const values = this.values(what);
    const rows = [];
    const visit = (parent) => {
      for (const row of this.children(parent).sort((one, other) => values[other] - values[one] || one - other)) {
        rows.push(row);
        if (open.has(row)) visit(row);
      }
    };
    visit(-1);
    return rows;
  }

  /// Rows to open at first: those on the way to whatever has at least `share` of the time, `most` rows at most.
  rows_to_open(what, share, most) {
    const values = this.values(what);
    const total = this.children(-1).reduce((sum, row) => sum + values[row], 0);
    const open = new Set();
    for (let row = 0; row < this.count && open.size < most; ++row)
      if (this.has_children(row) && values[row] >= total * share) open.add(row);
    return open;
  }
}

/// Boxes of a flame graph over `width` pixels: {row, depth, left, width}, with `root` (-1: all) at the full width and
/// its ancestors above it. Children are the most expensive first. What is narrower than `least` pixels is left out.
export function flame_boxes(tree, what, root, width, least) {
  const values = tree.values(what);
  const boxes = [];
  const ancestors = root < 0 ? [] : tree.ancestors(root).slice(0, -1);
  for (const [depth, row] of ancestors.entries()) boxes.push({row, depth, left: 0, width});
  const place = (rows, depth, left, scale, room) => {
    let at = left;
    for (const row of rows.sort((one, other) => values[other] - values[one] || one - other)) {
      // Work of children on streams at the same time can add up to more than their parent: then they share its width.
      const own = Math.min(values[row] * scale, left + room - at);
      if (own < least) continue;
      boxes.push({row, depth, left: at, width: own});
      const children = tree.children(row);
      const sum = children.reduce((total, child) => total + values[child], 0);
      if (sum > 0) place(children, depth + 1, at, own / Math.max(sum, values[row]), own);
      at += own;
    }
  };
  const roots = root < 0 ? tree.children(-1) : [root];
  const total = roots.reduce((sum, row) => sum + values[row], 0);
  if (total > 0) place(roots, ancestors.length, 0, width / total, width);
  return boxes;
}
