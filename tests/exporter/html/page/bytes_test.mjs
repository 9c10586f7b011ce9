// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {gzipSync} from 'node:zlib';
import {Blocks, gunzip} from '../../../../lib/exporter/html/page/blocks.mjs';
import {BadData, Table, bytes_of_base64, names_of_bytes} from '../../../../lib/exporter/html/page/bytes.mjs';
import {PackedBlocks, varint} from './pack.mjs';

const reader_of = (packed) => new Blocks(packed.entries, (number) => packed.texts[number] ?? null);

test('base64 of every length is read as it was written', () => {
  for (let length = 0; length < 40; ++length) {
    const bytes = Uint8Array.from({length}, (_, at) => (at * 73 + length * 11) & 255);
    assert.deepEqual(bytes_of_base64(Buffer.from(bytes).toString('base64')), bytes);
  }
});

test('base64 that is cut or has other characters is refused', () => {
  for (const text of ['QUJ', 'QUJ*', 'Q===', 'QU=D', 'Q U=', 'QUJDé===', 'QUJ\u0000'])
    assert.throws(() => bytes_of_base64(text), BadData, text);
});

test('every type of column gives back its values', async () => {
  const large = [0, 1, 127, 128, 16383, 16384, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER];
  const times = [0, 5, 3, 2 ** 40, 2 ** 51, 7, 7, 8, 9];
  const signed = [0, -1, 1, -64, 64, 2 ** 40, -(2 ** 40), 5, -(2 ** 52)];
  const doubles = [0, -1.5, 1e300, NaN, Infinity, 5e-324, 1, 2, 3];
  const packed = new PackedBlocks();
  for (const coding of ['gzip', 'plain']) {
    const descriptor = packed.table(
        [
          ['wide', 'varint', large], ['sign', 'zigzag', signed], ['time', 'delta', times], ['real', 'f64', doubles],
          ['kind', 'u8', [0, 1, 2, 3, 255, 5, 6, 7, 8]]
        ],
        coding);
    const table = await reader_of(packed).table(descriptor);
    assert.deepEqual([...table.column('wide')], large);
    assert.deepEqual([...table.column('sign')], signed);
    assert.deepEqual([...table.column('time')], times);
    assert.deepEqual([...table.column('real')], doubles);
    assert.deepEqual([...table.column('kind', Uint8Array)], [0, 1, 2, 3, 255, 5, 6, 7, 8]);
  }
});

test('a column that is cut at any byte is refused, and so is one that goes on', () => {
  const bytes = Uint8Array.from([1, 300, 2 ** 40].reduce((to, value) => varint(value, to), []));
  const read = (cut) =>
      new Table({rows: 3, columns: [{name: 'a', type: 'varint', bytes: cut.length}]}, cut).column('a');
  assert.deepEqual([...read(bytes)], [1, 300, 2 ** 40]);
  for (let size = 0; size < bytes.length; ++size)
    assert.throws(() => read(bytes.subarray(0, size)), BadData, String(size));
  assert.throws(() => read(Uint8Array.from([...bytes, 0])), BadData);
});

test('an integer that a double does not hold is refused', () => {
  const column = {name: 'a', type: 'varint', bytes: 8};
  const most = Uint8Array.from([255, 255, 255, 255, 255, 255, 255, 127]);
  assert.throws(() => new Table({rows: 1, columns: [column]}, most).column('a'), BadData);
});

test('a table says what it lacks', () => {
  const table = new Table({rows: 2, columns: []}, new Uint8Array());
  assert.throws(() => table.column('time_ns'), /no column time_ns/);
  assert.deepEqual([...table.column_or_zeros('time_ns')], [0, 0]);
  assert.throws(
      () => new Table({rows: 1, columns: [{name: 'a', type: 'constructor', bytes: 0}]}, new Uint8Array()), BadData);
  assert.throws(() => new Table({rows: 1, columns: [{name: 'a', type: 'u8', bytes: 2}]}, new Uint8Array(1)), BadData);
  assert.throws(() => new Table({rows: 1, columns: [{name: 'a', type: 'u8', bytes: 1}]}, new Uint8Array(2)), BadData);
});

test('names keep their characters, and end where they end', async () => {
  const names = ['', 'forward', '한국어', '<script>', 'x'.repeat(300), '\u0000'];
  const packed = new PackedBlocks();
  const descriptor = packed.names(names);
  const blocks = reader_of(packed);
  assert.deepEqual(await blocks.names(descriptor), names);
  const bytes = await blocks.bytes(descriptor.block);
  assert.throws(() => names_of_bytes(bytes, names.length + 1), BadData);
  assert.throws(() => names_of_bytes(bytes, names.length - 1), BadData);
  assert.throws(() => names_of_bytes(bytes.subarray(0, bytes.length - 1), names.length), BadData);
});

test('a block that unpacks to another size than the index says is refused', async () => {
  const packed = gzipSync(Buffer.alloc(100_000));
  assert.equal((await gunzip(packed, 100_000)).length, 100_000);
  await assert.rejects(gunzip(packed, 99_999), BadData);
  await assert.rejects(gunzip(packed, 100_001), BadData);
  await assert.rejects(gunzip(packed.subarray(0, packed.length - 9), 100_000));
});

test('a block that is not there or has another coding is refused', async () => {
  await assert.rejects(new Blocks([], () => null).bytes(0), /block 0 is not in the file/);
  await assert.rejects(new Blocks([{coding: 'gzip', bytes: 1}], () => null).bytes(0), BadData);
  await assert.rejects(new Blocks([{coding: 'lz4', bytes: 1}], () => 'QQ==').bytes(0), /unknown coding lz4/);
  await assert.rejects(new Blocks([{coding: 'plain', bytes: 2}], () => 'QQ==').bytes(0), BadData);
});
