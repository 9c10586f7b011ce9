// SPDX-License-Identifier: MIT
// What bundle_page.cmake needs of the modules, and what keeps the page safe.
import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {sample_report} from './sample_report.mjs';
import {page_text} from './pack.mjs';

const folder = fileURLToPath(new URL('../../../../lib/exporter/html/page/', import.meta.url));
const modules = readdirSync(folder).filter((file) => file.endsWith('.mjs')).map((file) => file.replace('.mjs', ''));
const text_of = (module) => readFileSync(`${folder}${module}.mjs`, 'utf8');
const order =
    readFileSync(`${folder}bundle_page.cmake`, 'utf8').match(/set\(modules\n([^)]*)\)/)[1].trim().split(/\s+/);

test('the bundle has every module once, after all that it imports', () => {
  assert.deepEqual([...order].sort(), [...modules].sort());
  for (const [at, module] of order.entries())
    for (const [, imported] of text_of(module).matchAll(/from '\.\/([a-z_]+)\.mjs'/g))
      assert.ok(order.slice(0, at).includes(imported), `${module} imports ${imported}, which comes later`);
});

test('imports and exports are of the form that the bundler reads, and every import exists', async () => {
  for (const module of modules) {
    for (const line of text_of(module).split('\n')) {
      if (/^import\b/.test(line)) assert.match(line, /^import \{[A-Za-z0-9_, ]+\} from '\.\/[a-z_]+\.mjs';$/, module);
      if (/^export\b/.test(line)) assert.match(line, /^export (async )?(function|class|const) [A-Za-z0-9_]+/, module);
      assert.doesNotMatch(line, /\bimport\(/, module);
    }
    for (const [, names, from] of text_of(module).matchAll(/^import \{(.*)\} from '(.*)';$/gm)) {
      const exported = await import(`${folder}${from}`);
      for (const name of names.split(',')) assert.ok(name.trim() in exported, `${module}: ${from} has no ${name}`);
    }
  }
});

test('no module makes markup of text, runs text or asks the network', () => {
  const words =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(|XMLHttpRequest|WebSocket|https?:\/\/(?!www\.w3\.org)/;
  for (const module of modules) assert.doesNotMatch(text_of(module), words, module);
});

test('the page is far below one megabyte', () => {
  const bytes = modules.reduce((sum, module) => sum + Buffer.byteLength(text_of(module)), 0) +
      readFileSync(`${folder}page.css`).length;
  assert.ok(bytes < 400_000, `${bytes} bytes`);
});

test('hostile names are no markup in the file', () => {
  const {index, blocks} = sample_report({slices: 400, steps: 2, hostile: true});
  const text = page_text('<head>', '<tail>', index, blocks);
  assert.equal(text.match(/<[^/]/g).length, 1 + 1 + 1 + blocks.texts.length);  // head, index, tail, blocks
  const json = text.match(/id="index">(.*)<\/script>/)[1];
  assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify(index)));
});
