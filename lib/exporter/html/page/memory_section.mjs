// SPDX-License-Identifier: MIT
// Device memory by range over time: areas on top of each other.
import {series_color} from './colors.mjs';
import {draw_to_width, make, make_drawing, make_folded_table, make_svg, show_hint} from './dom.mjs';
import {first_above} from './slice_row.mjs';
import {bytes_text, duration_text, ticks} from './units.mjs';

const kHeight = 300;
const kLeft = 72;
const kBottom = 24;
const kTop = 18;

/// Sums of the series up to and with each: the upper edges of the areas. Also what the page's tests check.
export function stacked(columns) {
  const edges = [];
  let below = null;
  for (const column of columns) {
    const edge = Float64Array.from(column, (value, row) => value + (below ? below[row] : 0));
    edges.push(edge);
    below = edge;
  }
  return edges;
}

const greatest = (values) => values.reduce((most, value) => Math.max(most, value), 0);

class MemoryChart {
  constructor(descriptor, table, page) {
    this.descriptor_ = descriptor;
    this.page_ = page;
    this.times_ = table.column('time_ns');
    this.columns_ = descriptor.series.map(({column}) => table.column(column));
    this.edges_ = stacked(this.columns_);
    this.reserved_ = descriptor.reserved ? table.column(descriptor.reserved) : null;
    this.most_ = Math.max(
        greatest(this.edges_.at(-1)), this.reserved_ ? greatest(this.reserved_) : 0, descriptor.peak?.bytes ?? 0, 1);
    // The limit is drawn where it is near: 80 GiB above 2 GiB of use would press the use flat.
    const limit = descriptor.limit_bytes ?? 0;
    this.limit_ = limit > 0 && limit < this.most_ * 2 ? limit : 0;
    this.most_ = Math.max(this.most_, this.limit_);
    this.chart_ = make('div');
    this.node = make('div', {}, this.legend_(), this.chart_, this.table_());
    draw_to_width(this.chart_, (width) => this.draw_(width));
  }

  legend_() {
    return make('ul', {class: 'legend'}, ...this.descriptor_.series.map(({label}, at) => {
      const swatch = make('i');
      swatch.style.background = series_color(at);
      return make('li', {}, swatch, label, make('b', {}, bytes_text(greatest(this.columns_[at]))));
    }));
  }

  x_(time_ns) { return kLeft + (time_ns / this.page_.duration_ns) * (this.width_ - kLeft - 8); }
  y_(bytes) { return kHeight - kBottom - (bytes / (this.most_ * 1.04)) * (kHeight - kBottom - kTop); }

  draw_(width) {
    this.width_ = width;
    const {peak, limit_bytes: limit} = this.descriptor_;
    const svg = make_drawing(
        width, kHeight,
        {role: 'img', 'aria-label': `Memory by range over time${peak ? `, at most ${bytes_text(peak.bytes)}` : ''}`});
    for (const mark of byte_marks(this.most_)) {
      svg.append(
          make_svg('line', {class: 'axis', x1: kLeft, x2: width - 8, y1: this.y_(mark), y2: this.y_(mark)}),
          make_svg('text', {x: kLeft - 8, y: this.y_(mark) + 4, 'text-anchor': 'end'}, bytes_text(mark)));
    }
    for (const mark of ticks(0, this.page_.duration_ns, Math.max(2, Math.floor(width / 140))))
      svg.append(make_svg('text', {x: this.x_(mark), y: kHeight - 6}, duration_text(mark)));
    for (let at = this.edges_.length - 1; at >= 0; --at)
      svg.append(make_svg('path', {d: this.area_(this.edges_[at]), fill: series_color(at)}));
    if (this.reserved_)
      svg.append(
          make_svg(
              'path', {d: this.line_(this.reserved_), fill: 'none', stroke: 'currentColor', 'stroke-dasharray': '4 3'}),
          make_svg('text', {x: width - 10, y: this.y_(this.reserved_.at(-1)) - 5, 'text-anchor': 'end'}, 'reserved'));
    if (this.limit_)
      svg.append(
          make_svg('line', {class: 'roof', x1: kLeft, x2: width - 8, y1: this.y_(limit), y2: this.y_(limit)}),
          make_svg('text', {class: 'strong', x: kLeft + 4, y: this.y_(limit) - 4}, `limit ${bytes_text(limit)}`));
    if (peak)
      svg.append(
          make_svg('circle', {cx: this.x_(peak.time_ns), cy: this.y_(peak.bytes), r: 4, fill: 'currentColor'}),
          make_svg(
              'text', {class: 'strong', x: Math.min(this.x_(peak.time_ns), width - 120), y: this.y_(peak.bytes) - 8},
              `peak ${bytes_text(peak.bytes)}`));
    svg.addEventListener('pointermove', (event) => this.hint_(event, svg));
    svg.addEventListener('pointerleave', () => show_hint(null));
    this.chart_.replaceChildren(svg);
  }

  /// A value holds until the next row: steps, not slopes.
  line_(values) {
    let path = '';
    for (let row = 0; row < this.times_.length; ++row) {
      const x = this.x_(this.times_[row]).toFixed(1);
      path += row === 0 ? `M${x} ${this.y_(values[0]).toFixed(1)}` : `H${x}V${this.y_(values[row]).toFixed(1)}`;
    }
    return `${path}H${this.x_(this.page_.duration_ns).toFixed(1)}`;
  }

  area_(edge) { return `${this.line_(edge)}V${this.y_(0)}H${this.x_(this.times_[0] ?? 0).toFixed(1)}Z`; }

  hint_(event, svg) {
    const x = event.clientX - svg.getBoundingClientRect().left;
    const time_ns = ((x - kLeft) / (this.width_ - kLeft - 8)) * this.page_.duration_ns;
    const row = first_above(this.times_, time_ns, 0, this.times_.length) - 1;
    if (row < 0) {
      show_hint(null);
      return;
    }
    const held = this.descriptor_.series.map(({label}, at) => [this.columns_[at][row], label])
                     .filter(([bytes]) => bytes > 0)
                     .sort(([one], [other]) => other - one);
    show_hint(
        [
          `${bytes_text(this.edges_.at(-1)[row])} at ${duration_text(this.times_[row])}`,
          ...held.slice(0, 8).map(([bytes, label]) => `${label}: ${bytes_text(bytes)}`)
        ],
        event.clientX, event.clientY);
  }

  table_() {
    const columns = [{label: 'Range'}, {label: 'Most', number: true}, {label: 'At the end', number: true}];
    return make_folded_table(
        'Memory by range', columns,
        this.descriptor_.series.map(
            ({label},
             at) => [label, bytes_text(greatest(this.columns_[at])), bytes_text(this.columns_[at].at(-1) ?? 0)]));
  }
}

/// Marks at whole powers of two, where bytes are round.
function byte_marks(most) {
  const step = 2 ** Math.ceil(Math.log2(most / 5));
  const marks = [];
  for (let mark = 0; mark <= most; mark += step) marks.push(mark);
  return marks;
}

export async function memory_section(descriptor, page) {
  return new MemoryChart(descriptor, await page.blocks.table(descriptor.table), page).node;
}
