// SPDX-License-Identifier: MIT
// Finds slices by name.
import {first_above} from './slice_row.mjs';

/// Of each name whether it has all words of the query in it, in any case: a Uint8Array of 0 and 1.
export function matching_names(names, query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const matches = new Uint8Array(names.length);
  if (words.length === 0) return matches;
  for (const [at, name] of names.entries()) {
    const lower = name.toLowerCase();
    if (words.every((word) => lower.includes(word))) matches[at] = 1;
  }
  return matches;
}

/// What a search found in the tracks that are loaded.
export class Found {
  constructor(tracks, matches) {
    this.matches = matches;
    this.count = 0;
    this.sum_ns = 0;
    const found = [];
    for (const track of tracks) {
      for (const row of track.rows ?? []) {
        for (let at = 0; at < row.count; ++at) {
          if (matches[track.names[row.first + at]] === 0) continue;
          found.push(row.begins[at], track.first_slice + row.first + at);
          this.sum_ns += row.ends[at] - row.begins[at];
        }
      }
    }
    this.count = found.length / 2;
    this.order_(found);
  }

  /// By begin, then by number: one order over all tracks, for "next" and "previous".
  order_(found) {
    const places = new Uint32Array(this.count);
    for (let at = 0; at < this.count; ++at) places[at] = at;
    places.sort((one, other) => found[2 * one] - found[2 * other] || found[2 * one + 1] - found[2 * other + 1]);
    this.begins = new Float64Array(this.count);
    this.numbers = new Float64Array(this.count);
    for (let at = 0; at < this.count; ++at) {
      this.begins[at] = found[2 * places[at]];
      this.numbers[at] = found[2 * places[at] + 1];
    }
  }

  /// Place of the match after (`direction` 1) or before (-1) the one at `place`; round the end to the other end.
  step(place, direction) { return this.count === 0 ? -1 : (place + direction + this.count) % this.count; }

  /// Place of the first match that begins at or after a time; the first of all when none does.
  first_from(time_ns) {
    if (this.count === 0) return -1;
    const place = first_above(this.begins, time_ns - 0.5, 0, this.count);
    return place < this.count ? place : 0;
  }
}
