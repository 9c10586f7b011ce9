// SPDX-License-Identifier: MIT
// Packs data as lib/exporter/html/README.md says, slowly and plainly: what tests hold the page's decoder against.
import {gzipSync} from 'node:zlib';

export function varint(value, to = []) {
  let rest = BigInt(value);
  for (; rest >= 128n; rest >>= 7n) to.push(Number(rest & 127n) | 128);
  to.push(Number(rest));
  return to;
}

const folded = (value) => value >= 0 ? 2n * BigInt(value) : -2n * BigInt(value) - 1n;

const kPackers = {
  u8: (values) => Uint8Array.from(values),
  varint: (values) => Uint8Array.from(values.reduce((to, value) => varint(value, to), [])),
  zigzag: (values) => Uint8Array.from(values.reduce((to, value) => varint(folded(value), to), [])),
  delta: (values) => Uint8Array.from(
      values.reduce((to, value, row) => varint(folded(value - (row === 0 ? 0 : values[row - 1])), to), [])),
  f64: (values) => new Uint8Array(Float64Array.from(values).buffer),
};

/// Blocks of a page, and what the index says of them.
export class PackedBlocks {
  entries = [];
  texts = [];

  /// The number of the new block. `coding` is gzip or plain.
  add(bytes, coding = 'gzip') {
    const packed = coding === 'gzip' ? gzipSync(bytes) : Buffer.from(bytes);
    this.entries.push({coding, bytes: bytes.length});
    this.texts.push(packed.toString('base64'));
    return this.texts.length - 1;
  }

  /// The descriptor of a table: `columns` are [name, type, values].
  table(columns, coding = 'gzip') {
    const parts = columns.map(([name, type, values]) => ({name, type, bytes: kPackers[type](values)}));
    const block = this.add(Buffer.concat(parts.map(({bytes}) => bytes)), coding);
    return {
      block,
      rows: columns.length === 0 ? 0 : columns[0][2].length,
      columns: parts.map(({name, type, bytes}) => ({name, type, bytes: bytes.length}))
    };
  }

  names(names) {
    const bytes = [];
    for (const name of names) {
      const text = new TextEncoder().encode(name);
      varint(text.length, bytes);
      bytes.push(...text);
    }
    return {block: this.add(Uint8Array.from(bytes)), count: names.length};
  }
}

/// The whole page from the two parts that bundle_page.cmake made.
export function page_text(head, tail, index, blocks) {
  const json =
      JSON.stringify(index).replace(/[<>&]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const data = blocks.texts.map(
      (text, number) => `<script type="application/octet-stream" id="block-${number}">${text}</script>\n`);
  return `${head}<script type="application/json" id="index">${json}</script>\n${data.join('')}${tail}`;
}
