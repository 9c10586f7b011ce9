// SPDX-License-Identifier: MIT
// Where the dots and lines of a roofline are, without anything of how they are drawn.

/// Powers of ten around what there is: dots and the corners of the roofs. {x: [low, high], y: [low, high]}.
export function roofline_limits(dots, peaks, bandwidths) {
  const xs = dots.map(({intensity}) => intensity);
  const ys = dots.map(({rate}) => rate);
  for (const {flop_per_s: peak} of peaks) {
    ys.push(peak);
    for (const {byte_per_s: bandwidth} of bandwidths) xs.push(peak / bandwidth);
  }
  const range = (values) => values.length === 0 ? [1, 10] : [
    10 ** Math.floor(Math.log10(Math.min(...values)) - 0.15),
    10 ** Math.ceil(Math.log10(Math.max(...values)) + 0.15),
  ];
  return {x: range(xs), y: range(ys)};
}

/// Place of a value on a logarithmic axis, 0 to 1.
export const log_place = (value, [low, high]) => Math.log(value / low) / Math.log(high / low);

/// The dots of a table: what has neither work nor time has no place and is left out.
export function roofline_dots(table, names) {
  const [name, time, flop, byte] = ['name', 'time_ns', 'flop', 'byte'].map((column) => table.column(column));
  const begin = table.column_or_zeros('begin_ns');
  const duration = table.column_or_zeros('duration_ns');
  const dots = [];
  for (let row = 0; row < table.rows; ++row) {
    if (!(flop[row] > 0) || !(byte[row] > 0) || !(time[row] > 0)) continue;
    dots.push({
      name: names[name[row]] ?? '',
      time_ns: time[row],
      intensity: flop[row] / byte[row],
      rate: flop[row] / (time[row] * 1e-9),
      bandwidth: byte[row] / (time[row] * 1e-9),
      begin_ns: begin[row],
      duration_ns: duration[row]
    });
  }
  return dots.sort((one, other) => other.time_ns - one.time_ns);
}

/// The least of the roofs over a dot: the best rate at its intensity; null without both kinds of peaks.
export function attainable(intensity, peaks, bandwidths) {
  if (peaks.length === 0 || bandwidths.length === 0) return null;
  const flop = Math.max(...peaks.map(({flop_per_s}) => flop_per_s));
  const byte = Math.max(...bandwidths.map(({byte_per_s}) => byte_per_s));
  return Math.min(flop, byte * intensity);
}
