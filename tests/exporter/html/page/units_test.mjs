// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {TimeView} from '../../../../lib/exporter/html/page/time_view.mjs';
import {bytes_text, count_text, duration_text, round_step, scaled_text, share_text, shortened, ticks, value_text} from '../../../../lib/exporter/html/page/units.mjs';

test('durations have three digits and the unit of the rounded value', () => {
  const texts = [
    [0, '0 ns'], [1, '1 ns'], [999, '999 ns'], [1000, '1 µs'], [1250, '1.25 µs'], [999_499, '999 µs'],
    [999_600, '1 ms'], [12_340_000, '12.3 ms'], [1e9, '1 s'], [3_661e9, '3661 s'], [-1500, '-1.5 µs']
  ];
  for (const [ns, text] of texts) assert.equal(duration_text(ns), text);
});

test('counts, bytes, rates and shares read as people write them', () => {
  assert.equal(count_text(1234567), '1,234,567');
  assert.equal(count_text(12), '12');
  assert.deepEqual(
      [0, 1023, 1024, 1536, 80 * 2 ** 30].map(bytes_text), ['0 B', '1,023 B', '1 KiB', '1.5 KiB', '80 GiB']);
  assert.deepEqual(
      [9e14, 0.02, 0].map((value) => scaled_text(value, 'FLOP/s')), ['900 TFLOP/s', '0.02 FLOP/s', '0 FLOP/s']);
  assert.deepEqual(
      [[0, 5], [1, 2000], [1, 200], [1, 3], [1, 0], [995, 1000], [99_999, 100_000], [7, 7]].map(
          ([part, whole]) => share_text(part, whole)),
      ['0 %', '<0.1 %', '0.5 %', '33 %', '', '99.5 %', '99.9 %', '100 %']);
  assert.deepEqual(
      [[1500, 'ns'], [2048, 'B'], [7, ''], [0.5, 'W']].map(([value, unit]) => value_text(value, unit)),
      ['1.5 µs', '2 KiB', '7', '0.5000 W']);
});

test('texts are cut between characters', () => {
  assert.equal(shortened('forward', 7), 'forward');
  assert.equal(shortened('forward', 4), 'for…');
  assert.equal(shortened('forward', 1), '');
  assert.equal(shortened('a😀b', 3), 'a…');
});

test('marks of an axis are round and inside', () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(5, 5, 5), []);
  assert.equal(round_step(0.03), 0.05);
  for (const [begin, end] of [[3, 17], [1e9, 1e9 + 7], [0.1, 0.2]]) {
    const marks = ticks(begin, end, 8);
    assert.ok(marks.length >= 2 && marks.length <= 9);
    for (const mark of marks) assert.ok(mark >= begin - 1e-9 && mark <= end + 1e-9);
  }
});

test('the view stays inside the recording, whatever it is asked for', () => {
  const view = new TimeView(1e6);
  for (const [begin, end] of [[-500, 100], [999_990, 2e6], [-1e9, 1e9], [500, 500], [700, 200]]) {
    view.show(begin, end);
    assert.ok(view.begin_ns >= 0 && view.end_ns <= 1e6 + 1e-6 && view.span_ns >= 50, `${begin} to ${end}`);
  }
});

test('zooming keeps the time under the pointer where it is', () => {
  const view = new TimeView(1e9);
  view.show(2e8, 4e8);
  const at = view.ns_at(300, 1000);
  view.zoom(0.5, 0.3);
  assert.ok(Math.abs(view.x_at(at, 1000) - 300) < 1e-6);
  assert.ok(Math.abs(view.span_ns - 1e8) < 1e-3);
  for (let step = 0; step < 60; ++step) view.zoom(0.5, 0.3);
  assert.ok(Math.abs(view.span_ns - 50) < 1e-6);
  for (let step = 0; step < 60; ++step) view.zoom(2, 0.3);
  assert.deepEqual([view.begin_ns, view.end_ns], [0, 1e9]);
});

test('panning moves by a share of what is shown and stops at the ends', () => {
  const view = new TimeView(1000);
  view.show(400, 600);
  view.pan(0.5);
  assert.deepEqual([view.begin_ns, view.end_ns], [500, 700]);
  view.pan(50);
  assert.deepEqual([view.begin_ns, view.end_ns], [800, 1000]);
});

test('revealing what is in sight moves nothing; else it comes into sight at the same scale', () => {
  const view = new TimeView(10_000);
  view.show(1000, 2000);
  view.reveal(1900, 2500);
  assert.equal(view.begin_ns, 1000);
  view.reveal(7000, 7100);
  assert.ok(view.begin_ns <= 7000 && view.end_ns >= 7100);
  assert.equal(view.span_ns, 1000);
});
