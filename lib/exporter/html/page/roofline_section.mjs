// SPDX-License-Identifier: MIT
// Roofline: how near ranges are to what the machine can do.
import {name_color} from './colors.mjs';
import {add_hint, draw_to_width, make, make_drawing, make_folded_table, make_one_stop, make_svg} from './dom.mjs';
import {attainable, log_place, roofline_dots, roofline_limits} from './roofline_plot.mjs';
import {duration_text, scaled_text, share_text, shortened} from './units.mjs';

const kLeft = 92;
const kBottom = 44;
const kTop = 14;
const kMostDots = 300;
const kNamedDots = 5;
const kHalfCharacter = 3.6;
const kLineHeight = 14;

class Axes {
  constructor(width, limits) {
    this.width = width;
    this.height = Math.round(Math.min(460, Math.max(300, width * 0.56)));
    this.limits = limits;
  }
  x(value) { return kLeft + log_place(value, this.limits.x) * (this.width - kLeft - 12); }
  y(value) { return this.height - kBottom - log_place(value, this.limits.y) * (this.height - kBottom - kTop); }
}

function draw_axes(svg, axes) {
  const {x: [x_low, x_high], y: [y_low, y_high]} = axes.limits;
  const bottom = axes.height - kBottom;
  for (let power = Math.round(Math.log10(x_low)); power <= Math.round(Math.log10(x_high)); ++power) {
    const x = axes.x(10 ** power);
    svg.append(
        make_svg('line', {class: 'axis', x1: x, x2: x, y1: kTop, y2: bottom}),
        make_svg('text', {x, y: bottom + 17, 'text-anchor': 'middle'}, scaled_text(10 ** power, '').trim()));
  }
  for (let power = Math.round(Math.log10(y_low)); power <= Math.round(Math.log10(y_high)); ++power) {
    const y = axes.y(10 ** power);
    svg.append(
        make_svg('line', {class: 'axis', x1: kLeft, x2: axes.width - 12, y1: y, y2: y}),
        make_svg('text', {x: kLeft - 8, y: y + 4, 'text-anchor': 'end'}, scaled_text(10 ** power, 'FLOP/s')));
  }
  svg.append(make_svg(
      'text', {x: (axes.width + kLeft) / 2, y: axes.height - 6, 'text-anchor': 'middle'}, 'FLOP per byte moved'));
}

function draw_roofs(svg, axes, peaks, bandwidths) {
  const {x: [x_low, x_high], y: [y_low]} = axes.limits;
  const best_bandwidth = Math.max(0, ...bandwidths.map(({byte_per_s}) => byte_per_s));
  const best_peak = Math.max(0, ...peaks.map(({flop_per_s}) => flop_per_s));
  for (const {label, flop_per_s: peak} of peaks) {
    const from = best_bandwidth > 0 ? Math.max(x_low, peak / best_bandwidth) : x_low;
    svg.append(
        make_svg('line', {class: 'roof', x1: axes.x(from), x2: axes.x(x_high), y1: axes.y(peak), y2: axes.y(peak)}),
        make_svg(
            'text', {class: 'strong', x: axes.width - 14, y: axes.y(peak) - 5, 'text-anchor': 'end'},
            `${label} ${scaled_text(peak, 'FLOP/s')}`));
  }
  for (const {label, byte_per_s: bandwidth} of bandwidths) {
    const to = best_peak > 0 ? Math.min(x_high, best_peak / bandwidth) : x_high;
    const from = Math.max(x_low, y_low / bandwidth);
    if (from >= to) continue;
    svg.append(
        make_svg('line', {
          class: 'roof',
          x1: axes.x(from),
          x2: axes.x(to),
          y1: axes.y(from * bandwidth),
          y2: axes.y(to * bandwidth)
        }),
        make_svg(
            'text', {class: 'strong', x: axes.x(from) + 8, y: axes.y(from * bandwidth) - 14},
            `${label} ${scaled_text(bandwidth, 'B/s')}`));
  }
}

function share_of_roof(dot, descriptor) {
  const best = attainable(dot.intensity, descriptor.peaks, descriptor.bandwidths);
  return best === null ? '' : share_text(dot.rate, best);
}

function dot_lines(dot, descriptor) {
  const share = share_of_roof(dot, descriptor);
  return [
    dot.name, `${scaled_text(dot.rate, 'FLOP/s')}, ${scaled_text(dot.bandwidth, 'B/s')}`,
    `${dot.intensity.toPrecision(3)} FLOP per byte, ${duration_text(dot.time_ns)}`, share ? `${share} of the roof` : ''
  ].filter((line) => line !== '');
}

function dot_circle(dot, axes, most, descriptor, page) {
  const lines = dot_lines(dot, descriptor);
  const circle = make_svg('circle', {
    cx: axes.x(dot.intensity),
    cy: axes.y(dot.rate),
    r: radius_of(dot, most),
    fill: name_color(dot.name),
    'fill-opacity': 0.78,
    stroke: name_color(dot.name),
    role: 'img',
    'aria-label': lines.join(', ')
  });
  const show = () => {
    if (dot.duration_ns > 0) page.show_interval(dot.begin_ns, dot.duration_ns);
  };
  circle.addEventListener('click', show);
  circle.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') show();
  });
  add_hint(circle, () => lines);
  return circle;
}

const radius_of = (dot, most) => Math.max(3, 20 * Math.sqrt(dot.time_ns / most));

/// Names below the dots with the most time, except where one would cover another.
function draw_names(svg, axes, dots) {
  const taken = [];
  for (const dot of dots.slice(0, axes.width < 600 ? 2 : kNamedDots)) {
    const text = shortened(dot.name, 22);
    const half = text.length * kHalfCharacter;
    const x = Math.min(Math.max(axes.x(dot.intensity), kLeft + half), axes.width - half);
    const y = axes.y(dot.rate) + radius_of(dot, dots[0].time_ns) + 13;
    if (taken.some((other) => Math.abs(other.y - y) < kLineHeight && Math.abs(other.x - x) < other.half + half))
      continue;
    taken.push({x, y, half});
    svg.append(make_svg('text', {class: 'strong', x, y, 'text-anchor': 'middle', 'pointer-events': 'none'}, text));
  }
}

export async function roofline_section(descriptor, page) {
  const dots = roofline_dots(await page.blocks.table(descriptor.table), page.names);
  if (dots.length === 0) return make('p', {class: 'note'}, 'No range has both operations and bytes.');
  const limits = roofline_limits(dots, descriptor.peaks, descriptor.bandwidths);
  const chart = make('div');
  draw_to_width(chart, (width) => {
    const axes = new Axes(width, limits);
    const svg = make_drawing(width, axes.height, {role: 'group', 'aria-label': 'Roofline; arrows go from dot to dot'});
    draw_axes(svg, axes);
    draw_roofs(svg, axes, descriptor.peaks, descriptor.bandwidths);
    const circles = dots.slice(0, kMostDots).map((dot) => dot_circle(dot, axes, dots[0].time_ns, descriptor, page));
    svg.append(...circles);
    make_one_stop(svg, circles);
    draw_names(svg, axes, dots);
    chart.replaceChildren(svg);
  });
  const columns = [
    {label: 'Range'}, {label: 'Time', number: true}, {label: 'FLOP per byte', number: true},
    {label: 'FLOP/s', number: true}, {label: 'B/s', number: true}, {label: 'Of the roof', number: true}
  ];
  const rows =
      dots.slice(0, kMostDots)
          .map(
              (dot) =>
                  [dot.name, duration_text(dot.time_ns), dot.intensity.toPrecision(3), scaled_text(dot.rate, 'FLOP/s'),
                   scaled_text(dot.bandwidth, 'B/s'), share_of_roof(dot, descriptor)]);
  const missing = page.index.absent?.roofline_peaks;
  return make(
      'div', {}, chart, missing ? make('p', {class: 'note'}, missing) : null,
      make_folded_table('Roofline', columns, rows));
}
