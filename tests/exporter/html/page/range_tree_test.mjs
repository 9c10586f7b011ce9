// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {RangeTree, flame_boxes} from '../../../../lib/exporter/html/page/range_tree.mjs';
import {heat_limits, rank_medians} from '../../../../lib/exporter/html/page/ranks_section.mjs';
import {stacked} from '../../../../lib/exporter/html/page/memory_section.mjs';
import {attainable, log_place, roofline_limits} from '../../../../lib/exporter/html/page/roofline_plot.mjs';
import {added_up, bins_of_rows} from '../../../../lib/exporter/html/page/step_bars.mjs';
import {loss_state} from '../../../../lib/exporter/html/page/head_section.mjs';

/// A table as the page decodes one: of columns.
const table_of = (columns) => ({
  rows: Object.values(columns)[0].length,
  has: (name) => name in columns,
  column: (name) => Float64Array.from(columns[name]),
  column_or_zeros: (name) => Float64Array.from(columns[name] ?? Object.values(columns)[0].map(() => 0)),
});

function tree_of(rows, device = true) {
  const columns = {
    depth: rows.map(([depth]) => depth),
    name: rows.map((_, at) => at),
    count: rows.map(() => 1),
    host_ns: rows.map(([, , host]) => host),
    host_self_ns: rows.map(() => 0)
  };
  if (device) columns.gpu_busy_ns = rows.map(([, , , gpu]) => gpu);
  return new RangeTree(table_of(columns), rows.map(([, name]) => name));
}

const kRows = [
  [0, 'step', 100, 90], [1, 'forward', 30, 60], [2, 'mlp', 10, 40], [2, 'attention', 15, 20], [1, 'backward', 60, 30],
  [0, 'eval', 50, 10]
];

test('rows in preorder have their parents, children and paths', () => {
  const tree = tree_of(kRows);
  assert.deepEqual([...tree.parents], [-1, 0, 1, 1, 0, -1]);
  assert.deepEqual(
      [tree.children(-1), tree.children(0), tree.children(1), tree.children(2)], [[0, 5], [1, 4], [2, 3], []]);
  assert.equal(tree.path(3), 'step / forward / attention');
  assert.throws(() => tree_of([[0, 'a', 1, 1], [2, 'b', 1, 1]]), /no parent/);
  assert.throws(() => tree_of([[1, 'a', 1, 1]]), /no parent/);
});

test('open rows show their children, the most expensive first', () => {
  const tree = tree_of(kRows);
  assert.deepEqual(tree.visible_rows(new Set([0, 1]), 'device'), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(tree.visible_rows(new Set([0, 1]), 'host'), [0, 4, 1, 3, 2, 5]);
  assert.deepEqual(tree.visible_rows(new Set([1]), 'host'), [0, 5]);
  assert.deepEqual([...tree.rows_to_open('device', 0.5, 9)], [0, 1]);
  assert.equal(tree_of(kRows, false).has_device, false);
});

test('boxes are as wide as their share, inside their parents', () => {
  const boxes = flame_boxes(tree_of(kRows), 'device', -1, 1000, 1);
  assert.deepEqual(
      boxes.map(({row, depth, left, width}) => [row, depth, Math.round(left), Math.round(width)]),
      [[0, 0, 0, 900], [1, 1, 0, 600], [2, 2, 0, 400], [3, 2, 400, 200], [4, 1, 600, 300], [5, 0, 900, 100]]);
});

test('zooming gives a row the full width, below its ancestors', () => {
  const boxes = flame_boxes(tree_of(kRows), 'host', 1, 600, 1);
  assert.deepEqual(
      boxes.map(({row, depth, left, width}) => [row, depth, left, width]),
      [[0, 0, 0, 600], [1, 1, 0, 600], [3, 2, 0, 300], [2, 2, 300, 200]]);
});

test('children that add up to more than their parent share its width', () => {
  const boxes = flame_boxes(tree_of([[0, 'step', 1, 10], [1, 'a', 1, 10], [1, 'b', 1, 10]]), 'device', -1, 100, 1);
  assert.deepEqual(boxes.map(({left, width}) => [left, width]), [[0, 100], [0, 50], [50, 50]]);
});

test('boxes without time or narrower than asked are left out', () => {
  assert.deepEqual(flame_boxes(tree_of([[0, 'a', 1, 0]]), 'device', -1, 100, 1), []);
  assert.equal(flame_boxes(tree_of(kRows), 'device', -1, 50, 8).some(({row}) => row === 5), false);
});

test('parts of steps add up, and what no part has is the rest', () => {
  const sums = added_up([[10, 20, 30], [1, 2, 3]], [100, 100, 33], 0, 2);
  assert.deepEqual(sums, {parts: [30, 3], rest: 167, total: 200});
  assert.deepEqual(bins_of_rows(10, 5, 2), [{from: 10, to: 13}, {from: 13, to: 15}]);
  assert.deepEqual(bins_of_rows(0, 0, 5), []);
});

test('a roofline holds its dots and roofs', () => {
  const dots = [{intensity: 0.5, rate: 2e11}, {intensity: 900, rate: 4e14}];
  const limits = roofline_limits(dots, [{flop_per_s: 9e14}], [{byte_per_s: 3e12}]);
  for (const {intensity, rate} of [...dots, {intensity: 300, rate: 9e14}]) {
    assert.ok(log_place(intensity, limits.x) > 0 && log_place(intensity, limits.x) < 1);
    assert.ok(log_place(rate, limits.y) > 0 && log_place(rate, limits.y) < 1);
  }
  assert.equal(attainable(1, [{flop_per_s: 9e14}], [{byte_per_s: 3e12}]), 3e12);
  assert.equal(attainable(1e4, [{flop_per_s: 9e14}], [{byte_per_s: 3e12}]), 9e14);
  assert.equal(attainable(1, [], [{byte_per_s: 3e12}]), null);
});

test('areas of memory stand on each other', () => {
  assert.deepEqual(stacked([[1, 2], [10, 20], [0, 5]]).map((edge) => [...edge]), [[1, 2], [11, 22], [11, 27]]);
});

test('one extreme value does not take all colors, and missing steps none', () => {
  const values = Float64Array.from({length: 200}, (_, at) => at === 7 ? 1e9 : at === 8 ? NaN : 100 + (at % 10));
  assert.deepEqual(heat_limits(values), [100, 109]);
  assert.deepEqual(heat_limits([NaN]), [0, 1]);
  assert.deepEqual(heat_limits([5, 5]), [5, 6]);
  assert.deepEqual(rank_medians(Float64Array.of(1, 2, 3, 7, 9, NaN), ['a', 'b'], 3), [['b', 9, 9], ['a', 2, 3]]);
});

test('the mark at the head says what is lost', () => {
  assert.equal(loss_state({complete: true}).level, 'good');
  assert.deepEqual(
      loss_state({complete: false, counts: [{count: 1000}, {count: 234}]}),
      {text: 'Incomplete: 1,234 records were lost', level: 'bad'});
  assert.equal(loss_state({complete: false}).level, 'bad');
  assert.equal(loss_state({complete: true, exported: {slices_left_out: 5}}).level, 'warning');
});
