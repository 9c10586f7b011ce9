// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {CounterRow, SliceRow, first_above} from '../../../../lib/exporter/html/page/slice_row.mjs';

function random_of(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function random_row(count, seed) {
  const random = random_of(seed);
  const gaps = Float64Array.from({length: count}, () => Math.floor(random() ** 6 * 500));
  const durations = Float64Array.from({length: count}, () => Math.floor(random() ** 4 * 900));
  return SliceRow.of_gaps(gaps, durations, 0, count);
}

const row_of = (...slices) =>
    new SliceRow(Float64Array.from(slices, ([begin]) => begin), Float64Array.from(slices, ([, end]) => end), 0);

function runs_of(row, begin, end, width) {
  const runs = [];
  row.for_each_run(begin, end, width, (...run) => runs.push(run));
  return runs;
}

test('gaps and durations become times, from the middle of a table too', () => {
  const row = SliceRow.of_gaps([9, 10, 5, 0], [9, 20, 1, 3], 1, 4);
  assert.deepEqual([...row.begins], [10, 35, 36]);
  assert.deepEqual([...row.ends], [30, 36, 39]);
  assert.equal(row.first, 1);
});

test('first_above finds the first greater value', () => {
  const values = [1, 3, 3, 7];
  assert.deepEqual([0, 1, 3, 6, 7].map((limit) => first_above(values, limit, 0, 4)), [0, 1, 3, 3, 4]);
  assert.equal(first_above(values, 0, 2, 2), 2);
});

test('the slice at a time and the nearest one', () => {
  const row = row_of([10, 20], [20, 30], [50, 60]);
  assert.deepEqual([9, 10, 19, 20, 30, 59, 60].map((time) => row.at(time)), [-1, 0, 0, 1, -1, 2, -1]);
  assert.deepEqual([0, 39, 41, 99].map((time) => row.nearest(time)), [0, 1, 2, 2]);
  assert.equal(row_of().nearest(5), -1);
});

test('busy time of a stretch is the sum of what overlaps it', () => {
  const row = random_row(3000, 5);
  const random = random_of(9);
  for (let round = 0; round < 300; ++round) {
    const [begin, end] = [random(), random()].map((share) => Math.floor(share * row.ends.at(-1))).sort((a, b) => a - b);
    let sum = 0;
    for (let at = 0; at < row.count; ++at)
      sum += Math.max(0, Math.min(row.ends[at], end) - Math.max(row.begins[at], begin));
    assert.equal(row.busy_between(begin, end), sum, `${begin} to ${end}`);
  }
});

test('the longest slice of any stretch is the one that looking at all finds', () => {
  const row = random_row(5000, 3);
  const random = random_of(4);
  for (let round = 0; round < 400; ++round) {
    const from = Math.floor(random() * 4999);
    const to = from + 1 + Math.floor(random() * (5000 - from - 1));
    let longest = 0;
    for (let at = from; at < to; ++at) longest = Math.max(longest, row.ends[at] - row.begins[at]);
    const found = row.longest_between(from, to);
    assert.ok(found >= from && found < to);
    assert.equal(row.ends[found] - row.begins[found], longest, `${from} to ${to}`);
  }
});

test('slices of a pixel or more are drawn alone, at their place', () => {
  const row = row_of([0, 100], [100, 250], [400, 500]);
  assert.deepEqual(runs_of(row, 0, 1000, 100), [[0, 10, 0, 1], [10, 25, 1, 1], [40, 50, 2, 1]]);
  assert.deepEqual(runs_of(row, 50, 450, 40), [[0, 5, 0, 1], [5, 20, 1, 1], [35, 40, 2, 1]]);
  assert.deepEqual(runs_of(row, 260, 390, 40), []);
});

test('slices that are narrower than a pixel are merged into it, with the longest in front', () => {
  const row = row_of([0, 1], [2, 5], [6, 7], [15, 16]);
  const runs = runs_of(row, 0, 20, 2);
  assert.deepEqual(runs, [[0, 1, 1, 0.5], [1, 2, 3, 0.1]]);
});

test('a wide slice that begins in a pixel of narrow ones is not swallowed', () => {
  const row = row_of([0, 1], [2, 3], [4, 94]);
  const runs = runs_of(row, 0, 100, 10);
  assert.deepEqual(runs.map(([left, right, at]) => [left, right, at]), [[0, 1, 0], [1, 9, 2]]);
});

test('runs do not overlap, stay inside, are at most one per pixel, and hide no busy pixel', () => {
  const row = random_row(20_000, 11);
  const random = random_of(12);
  const all = row.ends.at(-1);
  for (let round = 0; round < 120; ++round) {
    const width = 1 + Math.floor(random() * 900);
    const begin = random() * all * 0.9;
    const end = begin + 50 + random() ** 5 * (all - begin);
    const runs = runs_of(row, begin, end, width);
    assert.ok(runs.length <= width);
    let free = 0;
    const drawn = new Uint8Array(width);
    for (const [left, right, position, coverage] of runs) {
      assert.ok(
          Number.isInteger(left) && left >= free && right > left && right <= width, `${left} to ${right} of ${width}`);
      assert.ok(coverage >= 0 && coverage <= 1);
      assert.ok(row.ends[position] > begin && row.begins[position] < end);
      drawn.fill(1, left, right);
      free = right;
    }
    // A pixel in which the row is busy for more than half is drawn, or a neighbour is, by rounding.
    const pixel = (end - begin) / width;
    for (let x = 1; x + 1 < width; ++x)
      if (row.busy_between(begin + x * pixel, begin + (x + 1) * pixel) > pixel * 0.5)
        assert.ok(drawn[x - 1] || drawn[x] || drawn[x + 1], `pixel ${x} of ${width} is empty`);
  }
});

test('what is drawn of a million slices is found without looking at each', () => {
  const count = 1_000_000;
  const row = SliceRow.of_gaps(new Float64Array(count).fill(100), new Float64Array(count).fill(900), 0, count);
  row.busy_sums();
  row.longest_levels();
  let reads = 0;  // of times: what the work is proportional to, on any machine
  const counted = (values) => new Proxy(values, {
    get(target, key) {
      ++reads;
      return target[key];
    }
  });
  row.begins = counted(row.begins);
  row.ends = counted(row.ends);
  let runs = 0;
  row.for_each_run(0, 1e9, 1000, () => ++runs);
  assert.equal(runs, 1000);
  assert.ok(reads < 1000 * 600, `${reads} reads for 1000 pixels`);
});

test('a counter holds its value until the next sample', () => {
  const counter = new CounterRow(Float64Array.of(10, 20, 21, 22), Float64Array.of(5, 1, 9, 4));
  assert.deepEqual([counter.least, counter.greatest], [1, 9]);
  assert.deepEqual([9, 10, 19, 21, 99].map((time) => counter.value_at(time)), [NaN, 5, 5, 9, 4]);
  const pixels = [];
  counter.for_each_pixel(0, 40, 4, (...pixel) => pixels.push(pixel));
  assert.deepEqual(pixels, [[1, 5, 5], [2, 1, 9], [3, 4, 4]]);
});

test('least and greatest of many samples are those that looking at all finds', () => {
  const random = random_of(21);
  const values = Float64Array.from({length: 1000}, () => random());
  const counter = new CounterRow(Float64Array.from(values, (_, at) => at), values);
  for (let round = 0; round < 200; ++round) {
    const from = Math.floor(random() * 999);
    const to = from + 1 + Math.floor(random() * (1000 - from - 1));
    const part = values.subarray(from, to);
    assert.deepEqual(counter.extremes(from, to), [Math.min(...part), Math.max(...part)]);
  }
});
