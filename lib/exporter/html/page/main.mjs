// SPDX-License-Identifier: MIT
// The page, from the top. Sections appear in this order; each loads by itself, and one that fails says why in its place.
import {Blocks} from './blocks.mjs';
import {make, make_button} from './dom.mjs';
import {flame_section, ranges_section} from './ranges_section.mjs';
import {head_section} from './head_section.mjs';
import {memory_section} from './memory_section.mjs';
import {ranks_section} from './ranks_section.mjs';
import {roofline_section} from './roofline_section.mjs';
import {steps_section} from './steps_section.mjs';
import {advice_section, lost_section} from './text_sections.mjs';
import {timeline_section} from './timeline_section.mjs';

const kSchemaVersion = 1;

/// id, title, what it answers, where its data is in the index, what builds it.
const kSections = [
  {id: 'steps', title: 'Steps', about: 'What the device did in each step.', key: 'steps', build: steps_section},
  {
    id: 'ranges',
    title: 'Ranges',
    about: 'Which part of the code the time belongs to.',
    key: 'ranges',
    build: ranges_section
  },
  {id: 'flame', title: 'Flame graph', about: 'The same, by width.', key: 'ranges', build: flame_section},
  {id: 'timeline', title: 'Timeline', about: 'What happened when.', key: 'timeline', build: null},
  {
    id: 'roofline',
    title: 'Roofline',
    about: 'How near to the limits of the machine. Dots are sized by time.',
    key: 'roofline',
    build: roofline_section
  },
  {
    id: 'memory',
    title: 'Memory',
    about: 'Which ranges hold device memory, over time.',
    key: 'memory',
    build: memory_section
  },
  {id: 'ranks', title: 'Ranks', about: 'Ranks by steps.', key: 'ranks', build: ranks_section},
  {id: 'advice', title: 'Advice', about: 'What to change first.', key: 'advice', build: advice_section},
];

class Page {
  constructor(index) {
    this.index = index;
    this.duration_ns = Math.max(1, Number(BigInt(index.end_ns) - BigInt(index.begin_ns)));
    this.blocks =
        new Blocks(index.blocks ?? [], (number) => document.getElementById(`block-${number}`)?.textContent ?? null);
    this.names = [];
    this.timeline = null;
    this.theme_listeners_ = [];
  }

  get timeline_there() { return this.index.timeline !== undefined; }
  on_theme(listener) { this.theme_listeners_.push(listener); }
  show_interval(begin_ns, duration_ns) { this.timeline?.show_interval(begin_ns, duration_ns); }

  set_theme(theme) {
    document.documentElement.dataset.theme = theme;
    for (const listener of this.theme_listeners_) listener();
  }
}

/// The system's theme until the reader chooses one; print is always light.
function follow_theme(page, button) {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const apply = () => {
    const theme = chosen ?? (dark.matches ? 'dark' : 'light');
    page.set_theme(theme);
    button.textContent = theme === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Change to the ${theme === 'dark' ? 'light' : 'dark'} theme`);
  };
  button.addEventListener('click', () => {
    chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    apply();
  });
  dark.addEventListener('change', apply);
  addEventListener('beforeprint', () => page.set_theme('light'));
  addEventListener('afterprint', apply);
  apply();
}

function top_bar(index, sections, theme_button) {
  const brand = make('div', {class: 'brand'}, 'range', make('span', {}, 'finder'));
  const links = sections.map(({id, title}) => make('a', {href: `#${id}`}, title));
  return make(
      'div', {class: 'bar'}, make('a', {class: 'skip', href: '#verdict'}, 'Skip to the verdict'), brand,
      make('div', {class: 'file', title: index.title}, index.title),
      make('nav', {class: 'places', 'aria-label': 'Sections'}, ...links), theme_button);
}

function framed(id, title, about, content) {
  const heading = make('h2', {id: `${id}-title`}, title);
  return make(
      'section', {id, 'aria-labelledby': `${id}-title`}, make('div', {class: 'head'}, heading, make('p', {}, about)),
      content);
}

function failure(error) {
  return make('p', {class: 'note failure', role: 'alert'}, `This part could not be read: ${error.message}`);
}

async function fill_section({build, key}, page, frame) {
  try {
    frame.append(await build(page.index[key], page));
  } catch (error) {
    frame.append(failure(error));
  }
}

function show_timeline(page, frame) {
  try {
    page.timeline = timeline_section(page.index.timeline, page);
    frame.append(page.timeline.node);
    page.on_theme(() => page.timeline.theme_changed());
  } catch (error) {
    frame.append(failure(error));
  }
}

async function fill_page(page, main, sections) {
  if (page.index.names) page.names = await page.blocks.names(page.index.names);
  const frames = sections.map(({id, title, about}) => framed(id, title, about, null));
  for (const frame of frames) main.append(frame);
  const fills = sections.map(
      (section, at) =>
          section.id === 'timeline' ? show_timeline(page, frames[at]) : fill_section(section, page, frames[at]));
  const absent = kSections.filter(({key, id}) => page.index[key] === undefined && id !== 'flame')
                     .map(({title, key}) => [title, page.index.absent?.[key] ?? 'The recording has no data for it.']);
  main.append(framed(
      'lost', 'What is missing', 'What was lost, and what this recording cannot show.',
      lost_section(page.index.lost ?? {complete: true}, absent)));
  await Promise.all(fills);
}

/// Marks the link of the section that is in sight.
function follow_scroll(links) {
  const seen = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) {
      if (!isIntersecting) continue;
      for (const link of links) {
        if (link.getAttribute('href') === `#${target.id}`)
          link.setAttribute('aria-current', 'true');
        else
          link.removeAttribute('aria-current');
      }
    }
  }, {rootMargin: '-25% 0px -70% 0px'});
  for (const section of document.querySelectorAll('section')) seen.observe(section);
}

/// Called once, at the end of the document. `data-state` of <main> is `ready` when all sections are there.
export async function show_page() {
  const main = document.getElementById('page');
  try {
    const index = JSON.parse(document.getElementById('index').textContent);
    if (index.schema_version !== kSchemaVersion)
      throw new Error(`the data have version ${index.schema_version}, and this page reads ${kSchemaVersion}`);
    document.title = `${index.title} · rangefinder`;
    const page = new Page(index);
    const sections = kSections.filter(({key}) => index[key] !== undefined);
    const theme_button = make_button('', () => {});
    const bar = top_bar(index, [...sections, {id: 'lost', title: 'Missing'}], theme_button);
    main.before(bar);
    follow_theme(page, theme_button);
    main.replaceChildren(head_section(index, page.duration_ns));
    await fill_page(page, main, sections);
    follow_scroll([...bar.querySelectorAll('.places a')]);
    main.dataset.state = 'ready';
  } catch (error) {
    main.append(failure(error));
    main.dataset.state = 'failed';
  }
}
