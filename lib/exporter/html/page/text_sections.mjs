// SPDX-License-Identifier: MIT
// The sections that are text: advice, and what is missing.
import {make, make_button} from './dom.mjs';
import {count_text, duration_text} from './units.mjs';

const kSeverities = ['bad', 'warning', 'note'];
const kSeverityWords = {
  bad: 'Problem',
  warning: 'Worth a look',
  note: 'Note'
};

function advice_item(item, page) {
  const severity = kSeverities.includes(item.severity) ? item.severity : 'note';
  const linked = page.timeline_there && item.duration_ns !== undefined;
  return make(
      'li', {class: severity},
      make('h3', {}, make('span', {class: 'unseen'}, `${kSeverityWords[severity]}: `), item.title),
      item.text ? make('p', {}, item.text) : null,
      item.evidence?.length ? make('ul', {}, ...item.evidence.map((line) => make('li', {}, line))) : null,
      make(
          'p', {}, item.gain ? make('span', {class: 'gain'}, `Expected: ${item.gain}  `) : null,
          linked ?
              make_button(
                  'Show in the timeline', () => page.show_interval(item.begin_ns, item.duration_ns), {class: 'link'}) :
              null));
}

export async function advice_section(descriptor, page) {
  const list = descriptor.items.length > 0 ?
      make('ul', {class: 'advice'}, ...descriptor.items.map((item) => advice_item(item, page))) :
      make('p', {}, 'No rule found anything to improve.');
  const open = descriptor.not_evaluated ?? [];
  return make(
      'div', {}, list,
      open.length === 0 ? null :
                          make(
                              'details', {class: 'as-table'},
                              make('summary', {}, `Rules that could not be evaluated: ${count_text(open.length)}`),
                              make('ul', {class: 'gone'}, ...open.map((line) => make('li', {}, line)))));
}

function lost_lines(lost) {
  const lines =
      (lost.counts ?? []).map(({label, count, text}) => `${label}: ${count_text(count)}${text ? `. ${text}` : ''}`);
  if (lost.exported?.slices_left_out > 0)
    lines.push(`${count_text(lost.exported.slices_left_out)} slices are not on this page. ${lost.exported.why ?? ''}`);
  if (lost.clock_error_ns > 0)
    lines.push(`Device times may be off against host times by up to ${duration_text(lost.clock_error_ns)}.`);
  return [...lines, ...(lost.notes ?? [])];
}

/// `absent`: title and reason of each section that the recording has no data for.
export function lost_section(lost, absent) {
  const lines = lost_lines(lost);
  const nothing = lost.complete ? 'All that was recorded is here.' : 'The recording is not whole.';
  return make(
      'div', {},
      lines.length === 0 ? make('p', {}, nothing) :
                           make('ul', {class: 'gone'}, ...lines.map((line) => make('li', {}, line))),
      absent.length === 0 ? null : make('p', {class: 'note'}, 'Not on this page:'),
      absent.length === 0 ?
          null :
          make(
              'ul', {class: 'gone'},
              ...absent.map(([title, reason]) => make('li', {}, make('b', {}, `${title}. `), reason))));
}
