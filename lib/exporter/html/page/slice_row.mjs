// SPDX-License-Identifier: MIT
// One row of a track: slices that do not overlap, in order of time. A million of them are drawn in the time that the
// pixels take, not the slices: sums of durations answer how busy a pixel was, and groups of groups of slices answer
// which slice of a pixel is the longest.

const kGroup = 32;

/// Lowest position in [from, to) whose value is greater than `limit`; `to` when none is. `values` never decrease.
export function first_above(values, limit, from, to) {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] > limit)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// Lowest position in [from, to) whose value is at least `limit`. Steps double first: mostly the answer is near `from`.
function first_at_least(values, limit, from, to) {
  let step = 1;
  let low = from;
  while (low + step < to && values[low + step] < limit) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, to);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] >= limit)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

export class SliceRow {
  /// `begins` and `ends` are slices' times, ns; `first` is the number of the row's first slice in its track.
  constructor(begins, ends, first) {
    this.begins = begins;
    this.ends = ends;
    this.first = first;
    this.count = begins.length;
    this.busy_before_ = null;
    this.levels_ = null;
  }

  /// From the columns of a table: gaps before slices, and durations.
  static of_gaps(gaps, durations, from, to) {
    const begins = new Float64Array(to - from);
    const ends = new Float64Array(to - from);
    let time = 0;
    for (let row = from; row < to; ++row) {
      time += gaps[row];
      begins[row - from] = time;
      time += durations[row];
      ends[row - from] = time;
    }
    return new SliceRow(begins, ends, from);
  }

  /// Position of the slice at a time, or -1.
  at(time_ns) {
    const position = first_above(this.ends, time_ns, 0, this.count);
    return position < this.count && this.begins[position] <= time_ns ? position : -1;
  }

  /// Position of the slice nearest to a time; -1 in an empty row.
  nearest(time_ns) {
    const next = first_above(this.ends, time_ns, 0, this.count);
    if (next === this.count) return this.count - 1;
    if (next === 0 || this.begins[next] - time_ns <= time_ns - this.ends[next - 1]) return next;
    return next - 1;
  }

  /// Nanoseconds of [begin, end) in which the row was busy.
  busy_between(begin_ns, end_ns) {
    const from = first_above(this.ends, begin_ns, 0, this.count);
    const to = first_at_least(this.begins, end_ns, from, this.count);
    if (from >= to) return 0;
    const sums = this.busy_sums();
    return sums[to] - sums[from] - Math.max(0, begin_ns - this.begins[from]) - Math.max(0, this.ends[to - 1] - end_ns);
  }

  busy_sums() {
    if (this.busy_before_) return this.busy_before_;
    const sums = new Float64Array(this.count + 1);
    for (let slice = 0; slice < this.count; ++slice)
      sums[slice + 1] = sums[slice] + this.ends[slice] - this.begins[slice];
    return this.busy_before_ = sums;
  }

  longer_(one, other) {
    return this.ends[other] - this.begins[other] > this.ends[one] - this.begins[one] ? other : one;
  }

  /// Level 0 has the longest slice of each 32, level 1 of each 32 of those, and so on.
  longest_levels() {
    if (this.levels_) return this.levels_;
    const levels = [];
    for (let below = null, size = this.count; size > kGroup; size = below.length) {
      const level = new Uint32Array(Math.ceil(size / kGroup));
      for (let group = 0; group < level.length; ++group) {
        const from = group * kGroup;
        let longest = below ? below[from] : from;
        for (let member = from + 1; member < Math.min(from + kGroup, size); ++member)
          longest = this.longer_(longest, below ? below[member] : member);
        level[group] = longest;
      }
      levels.push(level);
      below = level;
    }
    return this.levels_ = levels;
  }

  /// Position of the longest slice in [from, to), which is not empty; of equals the first.
  longest_between(from, to) {
    const {begins, ends} = this;
    const levels = this.longest_levels();
    let longest = from;
    let most = ends[from] - begins[from];
    for (let at = from; at < to;) {
      let candidate = at;
      let size = 1;
      // The greatest group that begins here and ends in time. Most pixels have few slices and no group.
      if (at % kGroup === 0 && at + kGroup <= to) {
        let level = 0;
        for (size = kGroup; level + 1 < levels.length && at % (size * kGroup) === 0 && at + size * kGroup <= to;
             ++level)
          size *= kGroup;
        if (level < levels.length)
          candidate = levels[level][at / size];
        else
          size = 1;  // a row of one group has no levels
      }
      const duration = ends[candidate] - begins[candidate];
      if (duration > most) {
        most = duration;
        longest = candidate;
      }
      at += size;
    }
    return longest;
  }

  /// Calls `visit(left, right, position, coverage)` for what [begin, end) shows on `width` pixels, from the left.
  /// Pixels are whole numbers, [left, right) has at least one, and no two visits share one. A slice of a pixel or more
  /// is visited alone with coverage 1; narrower ones are merged per pixel: the longest of them, and the share of the
  /// pixel in which any of them ran. At most `width` visits, whatever the number of slices.
  for_each_run(begin_ns, end_ns, width, visit) {
    const scale = width / (end_ns - begin_ns);
    const {begins, ends, count} = this;
    let free = 0;  // the first pixel that is not drawn yet
    for (let slice = first_above(ends, begin_ns, 0, count); slice < count && begins[slice] < end_ns && free < width;) {
      const left = (begins[slice] - begin_ns) * scale;
      const right = (ends[slice] - begin_ns) * scale;
      if (right - left >= 1) {
        const from = Math.max(Math.round(left), free);
        const to = Math.min(Math.max(Math.round(right), from + 1), width);
        if (from < to) visit(from, to, slice, 1);
        free = Math.max(free, to);
        ++slice;
        continue;
      }
      const pixel = Math.max(0, Math.floor(left));
      let next = Math.max(first_at_least(begins, begin_ns + (pixel + 1) / scale, slice, count), slice + 1);
      // The last one may be wide and only begin in this pixel; it is drawn alone.
      if (next - 1 > slice && (ends[next - 1] - begins[next - 1]) * scale >= 1) --next;
      if (pixel >= free && pixel < width) {
        const sums = this.busy_sums();
        visit(pixel, pixel + 1, this.longest_between(slice, next), Math.min(1, (sums[next] - sums[slice]) * scale));
        free = pixel + 1;
      }
      slice = next;
    }
  }
}

/// Samples of a counter: a value holds until the next sample.
export class CounterRow {
  constructor(times, values) {
    this.times = times;
    this.values = values;
    this.least = Infinity;
    this.greatest = -Infinity;
    for (const value of values) {
      if (!Number.isFinite(value)) continue;  // has no place in a picture
      if (value < this.least) this.least = value;
      if (value > this.greatest) this.greatest = value;
    }
    if (this.least > this.greatest) this.least = this.greatest = 0;
    this.groups_ = null;
  }

  groups() {
    if (this.groups_) return this.groups_;
    const size = Math.ceil(this.values.length / kGroup);
    const least = new Float64Array(size).fill(Infinity);
    const greatest = new Float64Array(size).fill(-Infinity);
    for (let sample = 0; sample < this.values.length; ++sample) {
      const group = Math.floor(sample / kGroup);
      if (this.values[sample] < least[group]) least[group] = this.values[sample];
      if (this.values[sample] > greatest[group]) greatest[group] = this.values[sample];
    }
    return this.groups_ = {least, greatest};
  }

  /// The value at a time; NaN before the first sample.
  value_at(time_ns) {
    const after = first_above(this.times, time_ns, 0, this.times.length);
    return after === 0 ? NaN : this.values[after - 1];
  }

  /// Least and greatest of the samples [from, to); both NaN when none has a value.
  extremes(from, to) {
    const {least, greatest} = this.groups();
    let low = Infinity;
    let high = -Infinity;
    for (let at = from; at < to;) {
      const whole = at % kGroup === 0 && at + kGroup <= to;
      const bottom = whole ? least[at / kGroup] : this.values[at];
      const top = whole ? greatest[at / kGroup] : this.values[at];
      if (bottom < low) low = bottom;
      if (top > high) high = top;
      at += whole ? kGroup : 1;
    }
    return low > high ? [NaN, NaN] : [low, high];
  }

  /// Calls `visit(pixel, low, high)` for each pixel of [begin, end) that has a value.
  for_each_pixel(begin_ns, end_ns, width, visit) {
    const {times, values} = this;
    const step = (end_ns - begin_ns) / width;
    let from = first_above(times, begin_ns, 0, times.length);
    for (let pixel = 0; pixel < width; ++pixel) {
      const to = first_at_least(times, begin_ns + (pixel + 1) * step, from, times.length);
      const held = from > 0 ? values[from - 1] : NaN;
      let [low, high] = from < to ? this.extremes(from, to) : [held, held];
      if (held < low || Number.isNaN(low)) low = held;
      if (held > high || Number.isNaN(high)) high = held;
      if (low <= high) visit(pixel, low, high);
      from = to;
    }
  }
}
