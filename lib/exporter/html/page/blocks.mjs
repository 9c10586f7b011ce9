// SPDX-License-Identifier: MIT
// The blocks of the file: read, unpacked and decoded when they are first needed.
import {BadData, Table, bytes_of_base64, names_of_bytes} from './bytes.mjs';

/// Unpacks a gzip stream into exactly `size` bytes. A stream that has more is given up as soon as that is known.
export async function gunzip(packed, size) {
  if (typeof DecompressionStream === 'undefined')
    throw new BadData('this browser cannot unpack the data (DecompressionStream): take a newer one');
  const bytes = new Uint8Array(size);
  let filled = 0;
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (filled + part.value.length > size) {
      reader.cancel().catch(() => {});
      throw new BadData(`block has more than ${size} bytes`);
    }
    bytes.set(part.value, filled);
    filled += part.value.length;
  }
  if (filled !== size) throw new BadData(`block has ${filled} of ${size} bytes`);
  return bytes;
}

export class Blocks {
  /// `entries`: `blocks` of the index. `text_of(number)`: the base64 text of a block, or null.
  constructor(entries, text_of) {
    this.entries_ = entries;
    this.text_of_ = text_of;
    this.loads_ = new Map();
  }

  /// The bytes of a block. They are not kept: who needs them again keeps what was decoded.
  async bytes(number) {
    const entry = this.entries_[number];
    const text = entry ? this.text_of_(number) : null;
    if (text === null) throw new BadData(`block ${number} is not in the file`);
    const packed = bytes_of_base64(text.trim());
    if (entry.coding === 'gzip') return gunzip(packed, entry.bytes);
    if (entry.coding !== 'plain') throw new BadData(`block ${number}: unknown coding ${entry.coding}`);
    if (packed.length !== entry.bytes)
      throw new BadData(`block ${number} has ${packed.length} of ${entry.bytes} bytes`);
    return packed;
  }

  /// The table of a descriptor; the second call gives the same object.
  table(descriptor) {
    let load = this.loads_.get(descriptor);
    if (!load) {
      load = this.bytes(descriptor.block).then((bytes) => new Table(descriptor, bytes));
      this.loads_.set(descriptor, load);
    }
    return load;
  }

  async names(descriptor) { return names_of_bytes(await this.bytes(descriptor.block), descriptor.count); }
}
