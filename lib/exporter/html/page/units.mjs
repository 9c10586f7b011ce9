// SPDX-License-Identifier: MIT
// Numbers as people read them.

function significant(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  return digits === 0 ? text : text.replace(/\.?0+$/, '');
}

const kTimeUnits = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

/// "1.25 ms". Three digits: what the eye takes in; exact values stand in tables and exports.
export function duration_text(ns) {
  if (ns === 0) return '0 ns';
  const magnitude = Math.abs(ns);
  // 999,600 ns would be "1000 µs" when it is rounded: the unit follows the rounded value.
  for (const [size, unit] of kTimeUnits)
    if (magnitude >= size * 0.9995) return `${significant(ns / size)} ${unit}`;
  return `${significant(ns)} ns`;
}

/// All digits: "1,250,300 ns".
export const exact_ns = (ns) => `${count_text(ns)} ns`;

export function count_text(count) { return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ','); }

const kByteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes_text(bytes) {
  let unit = 0;
  let value = bytes;
  for (; Math.abs(value) >= 1024 && unit + 1 < kByteUnits.length; ++unit) value /= 1024;
  return `${unit === 0 ? count_text(value) : significant(value)} ${kByteUnits[unit]}`;
}

const kScales = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];

/// "900 TFLOP/s" for 9e14 and "FLOP/s".
export function scaled_text(value, unit) {
  for (const [size, prefix] of kScales)
    if (Math.abs(value) >= size * 0.9995) return `${significant(value / size)} ${prefix}${unit}`;
  return `${Number(value.toPrecision(3))} ${unit}`;
}

/// "38 %", "0.4 %", "<0.1 %". `part` of `whole`; empty when there is no whole.
export function share_text(part, whole) {
  if (!(whole > 0)) return '';
  const percent = (part / whole) * 100;
  if (percent === 0) return '0 %';
  if (Math.abs(percent) < 0.1) return '<0.1 %';
  if (percent < 100 && percent >= 99.5) return `${significant_tenth(Math.min(percent, 99.9))} %`;  // not all
  return `${Math.abs(percent) < 10 ? significant_tenth(percent) : Math.round(percent)} %`;
}

const significant_tenth = (value) => value.toFixed(1).replace(/\.0$/, '');

/// A value with the unit that a column of details has.
export function value_text(value, unit) {
  if (unit === 'ns') return duration_text(value);
  if (unit === 'B') return bytes_text(value);
  const number = Number.isInteger(value) ? count_text(value) : value.toPrecision(4);
  return unit ? `${number} ${unit}` : number;
}

/// 1, 2 or 5 times a power of ten: the least such number that is at least `least`.
export function round_step(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10])
    if (power * factor >= least * 0.999999) return power * factor;
  return power * 10;
}

/// Where an axis from `begin` to `end` has its marks, at most `most` of them.
export function ticks(begin, end, most) {
  if (!(end > begin) || most < 1) return [];
  const step = round_step((end - begin) / most);
  const marks = [];
  for (let mark = Math.ceil(begin / step); mark * step <= end && marks.length <= most; ++mark) marks.push(mark * step);
  return marks;
}

/// A text of at most `most` characters; a cut one ends in "…" and keeps whole characters.
export function shortened(text, most) {
  if (text.length <= most) return text;
  if (most < 2) return '';
  let cut = most - 1;
  const last = text.charCodeAt(cut - 1);
  if (last >= 0xd800 && last <= 0xdbff) --cut;  // not between the halves of a character
  return `${text.slice(0, cut)}…`;
}
