// SPDX-License-Identifier: MIT
// Step bars: what the device did in each step, and on average.
import {role_color} from './colors.mjs';
import {add_hint, draw_to_width, make, make_choice, make_drawing, make_folded_table, make_one_stop, make_svg} from './dom.mjs';
import {added_up, bins_of_rows} from './step_bars.mjs';
import {duration_text, share_text, ticks} from './units.mjs';

const kHeight = 220;
const kBottom = 24;
const kLeft = 64;
const kMostTableRows = 500;

/// Parts with their colors; the nth part of a role has the nth color of it.
function colored(parts) {
  const seen = {};
  const known = parts.map((part) => {
    seen[part.role] = (seen[part.role] ?? -1) + 1;
    return {...part, color: role_color(part.role, seen[part.role])};
  });
  return [...known, {label: 'Other', color: role_color('other', 0)}];
}

function lines_of(title, parts, sums) {
  const values = [...sums.parts, sums.rest];
  return [
    title,
    ...values.map((value, part) => [value, parts[part].label])
        .filter(([value]) => value > 0)
        .map(([value, label]) => `${label}: ${duration_text(value)}, ${share_text(value, sums.total)}`)
  ];
}

function legend(parts, sums) {
  const values = [...sums.parts, sums.rest];
  return make('ul', {class: 'legend'}, ...parts.map((part, at) => {
    const swatch = make('i');
    swatch.style.background = part.color;
    return values[at] > 0 ? make('li', {}, swatch, part.label, make('b', {}, share_text(values[at], sums.total))) :
                            null;
  }));
}

function whole_bar(parts, sums) {
  const values = [...sums.parts, sums.rest];
  const bar = make('div', {class: 'whole', role: 'img', 'aria-label': lines_of('All steps', parts, sums).join('; ')});
  for (const [at, value] of values.entries()) {
    if (value <= 0) continue;
    const part = make('div', {}, value > sums.total * 0.06 ? share_text(value, sums.total) : '');
    part.style.background = parts[at].color;
    part.style.flex = `${value / sums.total} 1 0`;
    add_hint(part, () => [parts[at].label, `${duration_text(value)}, ${share_text(value, sums.total)}`]);
    bar.append(part);
  }
  return bar;
}

class StepBars {
  constructor(descriptor, table, page) {
    this.page_ = page;
    this.parts_ = colored(descriptor.parts);
    this.columns_ = descriptor.parts.map(({column}) => table.column(column));
    this.totals_ = table.column('total_ns');
    this.steps_ = table.column('step');
    this.begins_ = table.column('begin_ns');
    this.groups_ = descriptor.groups;
    this.has_steps_ = !descriptor.whole;
    this.chart_ = make('div');
    this.top_ = make('div');
    this.node = make('div', {}, this.top_, this.chart_, make('div'));
    draw_to_width(this.chart_, (width) => this.draw_(width));
    this.choose(0);
  }

  choose(group) {
    this.group_ = this.groups_[group];
    const {first_row, rows} = this.group_;
    const sums = added_up(this.columns_, this.totals_, first_row, first_row + rows);
    this.top_.replaceChildren(whole_bar(this.parts_, sums), legend(this.parts_, sums));
    this.node.lastChild.replaceChildren(this.table_());
    if (this.chart_.clientWidth > 0) this.draw_(this.chart_.clientWidth);
  }

  label_({from, to}) {
    if (!this.has_steps_) return 'Whole recording';
    return to - from === 1 ? `Step ${this.steps_[from]}` : `Steps ${this.steps_[from]} to ${this.steps_[to - 1]}, mean`;
  }

  draw_(width) {
    if (!this.has_steps_) return;  // the bar above says it all
    const {first_row, rows} = this.group_;
    const room = width - kLeft - 4;
    const bins = bins_of_rows(first_row, rows, Math.floor(room / 7));
    const sums = bins.map(({from, to}) => added_up(this.columns_, this.totals_, from, to));
    const most = Math.max(1, ...sums.map(({total}, at) => total / (bins[at].to - bins[at].from)));
    const scale = (kHeight - kBottom - 8) / most;
    const about = `Time of each step by part; arrows go from step to step${
        this.page_.timeline_there ? ', Enter shows one in the timeline' : ''}`;
    const svg = make_drawing(width, kHeight, {role: 'group', 'aria-label': about});
    for (const mark of ticks(0, most, 4)) {
      const y = kHeight - kBottom - mark * scale;
      svg.append(
          make_svg('line', {class: 'axis', x1: kLeft, x2: width, y1: y, y2: y}),
          make_svg('text', {x: kLeft - 8, y: y + 4, 'text-anchor': 'end'}, duration_text(mark)));
    }
    const slot = Math.min(room / bins.length, 200);
    const bars = bins.map((bin, at) => this.bar_(bin, sums[at], kLeft + at * slot, slot, scale));
    svg.append(...bars);
    make_one_stop(svg, bars);
    const every = Math.ceil(64 / slot);
    for (let at = 0; at < bins.length; at += every)
      if (this.has_steps_)
        svg.append(make_svg('text', {x: kLeft + at * slot, y: kHeight - 6}, String(this.steps_[bins[at].from])));
    this.chart_.replaceChildren(svg);
  }

  bar_(bin, sums, x, slot, scale) {
    const count = bin.to - bin.from;
    const size = Math.max(1, slot - (slot > 5 ? 2 : 0));
    const lines = lines_of(`${this.label_(bin)}: ${duration_text(sums.total / count)}`, this.parts_, sums);
    const bar = make_svg('g', {role: this.page_.timeline_there ? 'button' : 'img', 'aria-label': lines.join('; ')});
    let y = kHeight - kBottom;
    for (const [part, value] of [...sums.parts, sums.rest].entries()) {
      const height = (value / count) * scale;
      if (height <= 0) continue;
      y -= height;
      bar.append(make_svg('rect', {x, y, width: size, height, fill: this.parts_[part].color}));
    }
    add_hint(bar, () => lines);
    const show = () => this.page_.show_interval(
        this.begins_[bin.from], this.begins_[bin.to - 1] + this.totals_[bin.to - 1] - this.begins_[bin.from]);
    bar.addEventListener('click', show);
    bar.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') show();
    });
    return bar;
  }

  table_() {
    const {first_row, rows} = this.group_;
    const columns = [
      {label: 'Step', number: true}, {label: 'Time', number: true},
      ...this.parts_.map(({label}) => ({label, number: true}))
    ];
    const shown = bins_of_rows(first_row, rows, kMostTableRows);
    return make_folded_table('Parts of each step', columns, shown.map((bin) => {
      const sums = added_up(this.columns_, this.totals_, bin.from, bin.to);
      const count = bin.to - bin.from;
      return [this.label_(bin), ...[sums.total, ...sums.parts, sums.rest].map((value) => duration_text(value / count))];
    }));
  }
}

export async function steps_section(descriptor, page) {
  const bars = new StepBars(descriptor, await page.blocks.table(descriptor.table), page);
  if (descriptor.groups.length > 1) {
    const options = descriptor.groups.map(({label}, at) => [at, label]);
    bars.node.prepend(make('div', {class: 'tools'}, make_choice('Device', options, 0, (group) => bars.choose(group))));
  }
  if (descriptor.whole)
    bars.node.append(make('p', {class: 'note'}, 'The recording marks no steps: this is all of it.'));
  return bars.node;
}
