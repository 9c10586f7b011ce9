// SPDX-License-Identifier: MIT
// Tracks and their slices, without anything of how they are drawn.
import {BadData, bytes_of_base64} from './bytes.mjs';
import {CounterRow, SliceRow, first_above} from './slice_row.mjs';

/// What a slice is; the order is that of the file.
export const kCategories = [
  'range',
  'computation',
  'communication',
  'copy',
  'memset',
  'call',
  'sync',
  'operator',
  'collective',
  'other',
];
const kComputation = 1;

export class Track {
  constructor(descriptor) {
    this.descriptor = descriptor;
    this.kind = descriptor.kind;
    this.group = descriptor.group;
    this.label = descriptor.label;
    this.first_slice = descriptor.first_slice ?? 0;
    this.slices = descriptor.slices ?? 0;
    this.depth_count = descriptor.kind === 'counter' ? 1 : Math.max(1, descriptor.depths.length);
    this.overview = descriptor.overview ? bytes_of_base64(descriptor.overview) : null;
    this.rows = null;     // SliceRow per depth, once it is loaded
    this.counter = null;  // CounterRow of a counter, once it is loaded
    this.failure = '';
    this.load_ = null;
  }

  get is_counter() { return this.kind === 'counter'; }
  get loaded() { return this.rows !== null || this.counter !== null; }

  /// Decodes the track, once. It does not throw: what is wrong is told in `failure`.
  load(blocks) {
    this.load_ ??= blocks.table(this.descriptor.table).then((table) => this.take(table)).catch((error) => {
      this.failure = String(error.message);
    });
    return this.load_;
  }

  take(table) {
    this.table = table;
    if (this.is_counter) {
      this.counter = new CounterRow(table.column('time_ns'), table.column('value'));
      return;
    }
    const gaps = table.column('gap_ns');
    const durations = table.column('duration_ns');
    const rows = [];
    let from = 0;
    for (const count of this.descriptor.depths) {
      if (from + count > table.rows) throw new BadData(`${this.label}: depths have more slices than the table`);
      rows.push(SliceRow.of_gaps(gaps, durations, from, from + count));
      from += count;
    }
    if (from !== table.rows || from !== this.slices)
      throw new BadData(
          `${this.label}: ${from} of ${table.rows} slices have a depth, and the index says ${this.slices}`);
    this.names = table.column('name', Uint32Array);
    this.categories = table.has('category') ? table.column('category', Uint8Array) : null;
    this.causes = table.has('cause') ? table.column('cause') : null;
    this.rows = rows;
  }

  category(index) {
    if (this.categories) return kCategories[this.categories[index]] ?? 'other';
    return this.kind === 'stream' ? kCategories[kComputation] : kCategories[0];
  }

  depth_of(index) {
    let depth = 0;
    while (depth + 1 < this.rows.length && index >= this.rows[depth + 1].first) ++depth;
    return depth;
  }

  /// A slice by its row in the table.
  slice(index) {
    const depth = this.depth_of(index);
    const row = this.rows[depth];
    const position = index - row.first;
    return {
      track: this,
      index,
      depth,
      position,
      number: this.first_slice + index,
      name: this.names[index],
      begin_ns: row.begins[position],
      end_ns: row.ends[position],
      duration_ns: row.ends[position] - row.begins[position],
    };
  }

  /// What else the file knows of a slice: label, value, unit.
  details(index) {
    return (this.descriptor.details ?? [])
        .map(({column, label, unit}) => ({column, label, unit: unit ?? '', value: this.table.column(column)[index]}));
  }
}

export class TimelineModel {
  constructor(descriptor, names) {
    this.tracks = descriptor.tracks.map((track) => new Track(track));
    this.names = names;
    this.windows = descriptor.windows ?? [];
    this.slice_tracks = this.tracks.filter((track) => !track.is_counter);
    this.first_slices_ = this.slice_tracks.map((track) => track.first_slice);
    this.slice_count = this.slice_tracks.reduce((sum, track) => sum + track.slices, 0);
  }

  /// Decodes all tracks, one after the other, and gives the browser time between them.
  async load_all(blocks, progress = () => {}) {
    for (const [at, track] of this.tracks.entries()) {
      await track.load(blocks);
      progress(at + 1, this.tracks.length);
    }
  }

  /// The slice of a number; null when there is none or its track is not loaded.
  slice_of_number(number) {
    const after = first_above(this.first_slices_, number, 0, this.first_slices_.length);
    // Tracks without slices begin at the same number as the next one: the last of equals has the slice.
    const track = after > 0 ? this.slice_tracks[after - 1] : null;
    const index = track ? number - track.first_slice : -1;
    return track?.rows && index >= 0 && index < track.slices ? track.slice(index) : null;
  }

  /// The slice that launched this one, or null.
  cause_of(slice) {
    const cause = slice.track.causes ? slice.track.causes[slice.index] : 0;
    return cause > 0 ? this.slice_of_number(cause - 1) : null;
  }

  /// The slices that this one launched, of the tracks that are loaded; at most `most`.
  effects_of(slice, most) {
    const effects = [];
    const wanted = slice.number + 1;
    for (const track of this.slice_tracks) {
      if (!track.causes) continue;
      for (let index = 0; index < track.causes.length && effects.length < most; ++index)
        if (track.causes[index] === wanted) effects.push(track.slice(index));
    }
    return effects;
  }

  /// The part of [begin, end) that the slices of each name took, the greatest sum first: {name, count, sum_ns}.
  sums_by_name(begin_ns, end_ns, tracks) {
    const sums = new Map();
    for (const track of tracks) {
      for (const row of track.rows ?? []) {
        const {begins, ends, count, first} = row;
        for (let at = first_above(ends, begin_ns, 0, count); at < count && begins[at] < end_ns; ++at) {
          const name = track.names[first + at];
          const sum = sums.get(name) ?? {name, count: 0, sum_ns: 0};
          ++sum.count;
          sum.sum_ns += Math.min(ends[at], end_ns) - Math.max(begins[at], begin_ns);
          sums.set(name, sum);
        }
      }
    }
    return [...sums.values()].sort((one, other) => other.sum_ns - one.sum_ns);
  }
}
