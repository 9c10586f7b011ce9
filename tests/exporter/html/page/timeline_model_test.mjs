// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Blocks} from '../../../../lib/exporter/html/page/blocks.mjs';
import {Found, matching_names} from '../../../../lib/exporter/html/page/search.mjs';
import {items_between, kRowHeight, lay_out, place_at, place_of} from '../../../../lib/exporter/html/page/timeline_layout.mjs';
import {TimelineModel} from '../../../../lib/exporter/html/page/timeline_model.mjs';
import {PackedBlocks} from './pack.mjs';

const kNames = ['step', 'cudaLaunchKernel', 'gemm', 'Memcpy HtoD'];

/// A step of 0 to 100 with launches at 10 and 20; a gemm of 30 to 50 and a copy of 60 to 65 on the device; power.
async function small_model() {
  const packed = new PackedBlocks();
  const thread = packed.table([
    ['gap_ns', 'varint', [0, 10, 8]], ['duration_ns', 'varint', [100, 2, 3]], ['name', 'varint', [0, 1, 1]],
    ['category', 'u8', [0, 5, 5]]
  ]);
  const stream = packed.table([
    ['gap_ns', 'varint', [30, 10]], ['duration_ns', 'varint', [20, 5]], ['name', 'varint', [2, 3]],
    ['category', 'u8', [1, 3]], ['cause', 'delta', [2, 3]], ['bytes', 'varint', [0, 4096]]
  ]);
  const power = packed.table([['time_ns', 'delta', [0, 50]], ['value', 'f64', [100, 300]]]);
  const model =
      new TimelineModel(
          {
            tracks: [
              {kind: 'thread', group: 'train', label: 'main', slices: 3, first_slice: 0, depths: [1, 2], table: thread},
              {
                kind: 'thread',
                group: 'train',
                label: 'idle',
                slices: 0,
                first_slice: 3,
                depths: [],
                table: packed.table([['gap_ns', 'varint', []], ['duration_ns', 'varint', []], ['name', 'varint', []]])
              },
              {
                kind: 'stream',
                group: 'device 0',
                label: 'stream 7',
                slices: 2,
                first_slice: 3,
                depths: [2],
                table: stream,
                details: [{column: 'bytes', label: 'Bytes', unit: 'B'}]
              },
              {kind: 'counter', group: 'device 0', label: 'Power', unit: 'W', table: power},
            ]
          },
          kNames);
  const blocks = new Blocks(packed.entries, (number) => packed.texts[number]);
  await model.load_all(blocks);
  for (const track of model.tracks) assert.equal(track.failure, '');
  return model;
}

test('slices have the times, depths and numbers that were packed', async () => {
  const model = await small_model();
  assert.equal(model.slice_count, 5);
  const slices = [0, 1, 2, 3, 4].map((number) => model.slice_of_number(number));
  assert.deepEqual(
      slices.map(({begin_ns, end_ns, depth, number}) => [begin_ns, end_ns, depth, number]),
      [[0, 100, 0, 0], [10, 12, 1, 1], [20, 23, 1, 2], [30, 50, 0, 3], [60, 65, 0, 4]]);
  assert.deepEqual(
      slices.map(({track, index}) => track.category(index)), ['range', 'call', 'call', 'computation', 'copy']);
  assert.equal(model.slice_of_number(5), null);
  assert.deepEqual(slices[4].track.details(1), [{column: 'bytes', label: 'Bytes', unit: 'B', value: 4096}]);
});

test('a slice leads to its launch, and a launch to its slices', async () => {
  const model = await small_model();
  const [, launch, , gemm] = [0, 1, 2, 3].map((number) => model.slice_of_number(number));
  assert.equal(model.cause_of(gemm).number, 1);
  assert.equal(model.cause_of(launch), null);
  assert.deepEqual(model.effects_of(launch, 9).map(({number}) => number), [3]);
  assert.deepEqual(model.effects_of(gemm, 9), []);
});

test('sums of a stretch count the part of each slice that is in it', async () => {
  const model = await small_model();
  const streams = model.tracks.filter(({kind}) => kind === 'stream');
  assert.deepEqual(
      model.sums_by_name(40, 62, streams), [{name: 2, count: 1, sum_ns: 10}, {name: 3, count: 1, sum_ns: 2}]);
});

test('a track that does not hold what the index says tells it, and the page goes on', async () => {
  const packed = new PackedBlocks();
  const table = packed.table([['gap_ns', 'varint', [0]], ['duration_ns', 'varint', [5]], ['name', 'varint', [0]]]);
  const blocks = new Blocks(packed.entries, (number) => packed.texts[number]);
  for (const depths of [[2], [], [0, 0]]) {
    const model =
        new TimelineModel({tracks: [{kind: 'thread', group: 'g', label: 'main', slices: 1, depths, table}]}, kNames);
    await model.load_all(blocks);
    assert.match(model.tracks[0].failure, /depth/);
    assert.equal(model.slice_of_number(0), null);
  }
});

test('a search needs all of its words, in any case, and finds slices in order of time', async () => {
  const model = await small_model();
  assert.deepEqual([...matching_names(kNames, ' memcpy  HTOD ')], [0, 0, 0, 1]);
  assert.deepEqual([...matching_names(kNames, '  ')], [0, 0, 0, 0]);
  const found = new Found(model.slice_tracks, matching_names(kNames, 'e'));
  assert.deepEqual([...found.numbers], [0, 1, 2, 3, 4]);
  assert.equal(found.sum_ns, 130);
  assert.deepEqual([0, 11, 20, 61].map((time) => found.first_from(time)), [0, 2, 2, 0]);
  assert.deepEqual([found.step(4, 1), found.step(0, -1), found.step(1, 1)], [0, 4, 2]);
  const none = new Found(model.slice_tracks, matching_names(kNames, 'no such'));
  assert.deepEqual([none.count, none.first_from(0), none.step(0, 1)], [0, -1, -1]);
});

test('tracks stand below each other, groups have a line, and a closed group hides its tracks', async () => {
  const {tracks} = await small_model();
  const layout = lay_out(tracks, 1000, new Set());
  assert.deepEqual(
      layout.items.map(({kind, label, track}) => label ?? track.label),
      ['train', 'main', 'idle', 'device 0', 'stream 7', 'Power']);
  for (const [at, item] of layout.items.entries())
    assert.equal(item.y, at === 0 ? 0 : layout.items[at - 1].y + layout.items[at - 1].height);
  assert.equal(layout.height, layout.items.at(-1).y + layout.items.at(-1).height);
  const closed = lay_out(tracks, 1000, new Set(['train']));
  assert.deepEqual(
      closed.items.map(({label, track}) => label ?? track.label), ['train', 'device 0', 'stream 7', 'Power']);
  assert.equal(place_of(closed, tracks[0], 0), null);
});

test('what is at a height is what stands there', async () => {
  const {tracks} = await small_model();
  for (const width of [400, 1000]) {
    const layout = lay_out(tracks, width, new Set());
    const {top, bottom} = place_of(layout, tracks[0], 1);
    assert.equal(bottom - top, kRowHeight);
    assert.equal(place_at(layout, top + 1).depth, 1);
    assert.equal(place_at(layout, top + 1).item.track, tracks[0]);
    assert.equal(place_at(layout, top - 1).depth, 0);
    assert.equal(place_at(layout, 3).item.kind, 'group');
    assert.equal(place_at(layout, layout.height + 1), null);
    assert.deepEqual(items_between(layout, top, bottom).map((item) => item.track), [tracks[0]]);
  }
});
