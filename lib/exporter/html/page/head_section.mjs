// SPDX-License-Identifier: MIT
// The head of the page: the verdict, what was recorded, and whether anything is missing.
import {make} from './dom.mjs';
import {count_text, duration_text} from './units.mjs';

/// What the mark of completeness says: {text, level}.
export function loss_state(lost) {
  const counts = lost.counts ?? [];
  const sum = counts.reduce((total, {count}) => total + count, 0);
  const left_out = lost.exported?.slices_left_out ?? 0;
  if (sum > 0) return {text: `Incomplete: ${count_text(sum)} records were lost`, level: 'bad'};
  if (!lost.complete) return {text: 'Incomplete: the recording is not whole', level: 'bad'};
  if (left_out > 0) return {text: `${count_text(left_out)} slices are not on this page`, level: 'warning'};
  return {text: 'Complete: no record was lost', level: 'good'};
}

function facts_of(index, duration_ns) {
  const facts = [['Recording', index.title], ['Length', duration_text(duration_ns)]];
  if (index.wall_begin_ms !== undefined)
    facts.push(['Begun', `${new Date(index.wall_begin_ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`]);
  return [...facts, ...(index.facts ?? [])];
}

const kLevels = ['good', 'warning', 'bad'];
const kLevelWords = {
  good: 'Good: ',
  warning: 'Worth a look: ',
  bad: 'Problem: '
};

/// A number and its unit stay on one line.
const kept_together = (text) => text.replace(/(\d) (?=%|[num\u00b5]?s\b)/g, '$1\u00a0');

export function head_section(index, duration_ns) {
  const verdict = index.verdict ?? {text: 'What was recorded', level: ''};
  const level = kLevels.includes(verdict.level) ? verdict.level : '';
  const {text, level: loss_level} = loss_state(index.lost ?? {complete: true});
  return make(
      'header', {class: 'verdict', id: 'verdict'}, make('div', {class: `mark ${level}`, 'aria-hidden': 'true'}),
      make('h1', {}, level ? make('span', {class: 'unseen'}, kLevelWords[level]) : null, kept_together(verdict.text)),
      make(
          'dl', {class: 'facts'},
          ...facts_of(index, duration_ns)
              .map(([term, content]) => make('div', {}, make('dt', {}, term), make('dd', {}, String(content))))),
      make(
          'div', {class: 'state'}, make('a', {class: loss_level, href: '#lost'}, text),
          index.simulated ? make('span', {class: 'warning'}, 'Simulated device records') : null));
}
