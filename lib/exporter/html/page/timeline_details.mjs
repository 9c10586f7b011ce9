// SPDX-License-Identifier: MIT
// What is said below the timeline of a slice that is selected, and of a stretch of time that is measured.
import {make, make_button, make_table} from './dom.mjs';
import {count_text, duration_text, exact_ns, share_text, value_text} from './units.mjs';

const kMostNames = 8;

const kCategoryWords = {
  range: 'range',
  computation: 'kernel',
  communication: 'communication',
  copy: 'memory copy',
  memset: 'memset',
  call: 'CUDA call',
  sync: 'synchronization',
  operator: 'operator',
  collective: 'collective',
  other: 'other',
};

function definitions(pairs) {
  return make('dl', {}, ...pairs.flatMap(([term, content]) => [make('dt', {}, term), make('dd', {}, content)]));
}

function detail_text({value, unit}, names) { return unit === 'name' ? names[value] ?? '' : value_text(value, unit); }

/// Nodes for a slice. `go(slice)` selects another one.
export function describe_slice(model, slice, cause, effects, go) {
  const {track} = slice;
  const where = definitions([
    ['What', kCategoryWords[track.category(slice.index)]],
    ['Where', `${track.group}, ${track.label}`],
    ['Begin', `${duration_text(slice.begin_ns)} (${exact_ns(slice.begin_ns)})`],
    ['Duration', `${duration_text(slice.duration_ns)} (${exact_ns(slice.duration_ns)})`],
  ]);
  // The launch delay is said once: from the slices, where both ends are here.
  const details = track.details(slice.index).filter(({column}) => !cause || column !== 'delay_ns');
  const more = details.map((detail) => [detail.label, detail_text(detail, model.names)]);
  if (cause) {
    const projected = track.kind === 'projected';
    const link = make_button(model.names[cause.name] ?? '', () => go(cause), {class: 'link'});
    more.push([projected ? 'On the host' : 'Launched by', link]);
    const from = projected ? 'After its begin on the host' : 'Launch delay';
    more.push([from, duration_text(slice.begin_ns - cause.begin_ns)]);
  }
  if (effects.length > 0) {
    const first = effects[0];
    more.push([
      first.track.kind === 'projected' ? 'On the device' : 'Launched',
      make_button(model.names[first.name] ?? '', () => go(first), {class: 'link'})
    ]);
    if (effects.length > 1) more.push(['', `and ${count_text(effects.length - 1)} more`]);
  }
  return [make('h3', {}, model.names[slice.name] ?? ''), where, more.length > 0 ? definitions(more) : null].filter(
      Boolean);
}

/// Nodes for a stretch of time: its length, and by name what the devices (else the threads) did in it.
export function describe_stretch(model, begin_ns, end_ns) {
  const streams = model.slice_tracks.filter((track) => track.kind === 'stream');
  const tracks = streams.length > 0 ? streams : model.slice_tracks;
  const length_ns = end_ns - begin_ns;
  const sums = model.sums_by_name(begin_ns, end_ns, tracks);
  const slices = sums.reduce((count, sum) => count + sum.count, 0);
  const facts = definitions([
    ['Begin', exact_ns(begin_ns)],
    ['Length', exact_ns(length_ns)],
    [streams.length > 0 ? 'Activities' : 'Slices', count_text(slices)],
    ['Names', count_text(sums.length)],
  ]);
  const rows =
      sums.slice(0, kMostNames)
          .map(
              ({
                name,
                count,
                sum_ns
              }) => [model.names[name] ?? '', count_text(count), duration_text(sum_ns), share_text(sum_ns, length_ns)]);
  const columns = [
    {label: 'Name'}, {label: 'Count', number: true}, {label: 'Time', number: true},
    {label: 'Of the stretch', number: true}
  ];
  return [
    make('h3', {}, `Measured: ${duration_text(length_ns)}`), facts,
    rows.length > 0 ? make('div', {}, make_table('Time by name in the measured stretch', columns, rows)) : null
  ].filter(Boolean);
}

/// What a screen reader says of a slice, and the hint beside the pointer shows.
export function slice_lines(model, slice) {
  return [
    model.names[slice.name] ?? '', duration_text(slice.duration_ns),
    `${kCategoryWords[slice.track.category(slice.index)]} · ${slice.track.label}`
  ];
}
