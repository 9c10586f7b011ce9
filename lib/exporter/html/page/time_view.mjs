// SPDX-License-Identifier: MIT
// The part of time that the timeline shows, ns since the begin of the recording.
import {ticks} from './units.mjs';

/// A nanosecond is the finest that is recorded: closer than this there is nothing to see.
const kLeastSpanNs = 50;

export class TimeView {
  constructor(end_ns) {
    this.limit_ns = Math.max(end_ns, kLeastSpanNs);
    this.begin_ns = 0;
    this.end_ns = this.limit_ns;
  }

  get span_ns() { return this.end_ns - this.begin_ns; }
  x_at(time_ns, width) { return ((time_ns - this.begin_ns) / this.span_ns) * width; }
  ns_at(x, width) { return this.begin_ns + (x / width) * this.span_ns; }

  /// Shows [begin, end), moved and cut so that it stays inside the recording.
  show(begin_ns, end_ns) {
    const span = Math.min(Math.max(end_ns - begin_ns, kLeastSpanNs), this.limit_ns);
    const middle = (begin_ns + end_ns) / 2;
    this.begin_ns = Math.min(Math.max(middle - span / 2, 0), this.limit_ns - span);
    this.end_ns = this.begin_ns + span;
  }

  show_all() { this.show(0, this.limit_ns); }

  /// An interval with room on both sides, so that what is before and behind it is seen too.
  show_around(begin_ns, duration_ns) {
    const room = Math.max(duration_ns * 0.5, kLeastSpanNs);
    this.show(begin_ns - room, begin_ns + duration_ns + room);
  }

  /// Brings an interval into sight with as little movement as possible; the scale stays.
  reveal(begin_ns, end_ns) {
    if (end_ns > this.begin_ns && begin_ns < this.end_ns) return;
    const middle = Math.min((begin_ns + end_ns) / 2, begin_ns + this.span_ns / 2);
    this.show(middle - this.span_ns / 2, middle + this.span_ns / 2);
  }

  /// `factor` below 1 shows less time. The time at `place` (0: left edge, 1: right edge) stays where it is.
  zoom(factor, place) {
    const span = Math.min(Math.max(this.span_ns * factor, kLeastSpanNs), this.limit_ns);
    const fixed = this.begin_ns + this.span_ns * place;
    this.begin_ns = Math.min(Math.max(fixed - span * place, 0), this.limit_ns - span);
    this.end_ns = this.begin_ns + span;
  }

  /// Moves by a share of what is shown.
  pan(share) {
    const shift = this.span_ns * share;
    this.show(this.begin_ns + shift, this.end_ns + shift);
  }

  /// Times of the marks of the ruler.
  marks(width) { return ticks(this.begin_ns, this.end_ns, Math.max(2, Math.floor(width / 110))); }
}
