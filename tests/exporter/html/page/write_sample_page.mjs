// SPDX-License-Identifier: MIT
// node write_sample_page.mjs PARTS_FOLDER OUTPUT.html [SLICES] [hostile]: a page of sample_report.mjs, to look at and for page_test.py.
import {readFileSync, writeFileSync} from 'node:fs';
import {page_text} from './pack.mjs';
import {sample_report} from './sample_report.mjs';

const [parts, output, slices = '20000', hostile = ''] = process.argv.slice(2);
const {index, blocks, slices: written} = sample_report({slices: Number(slices), hostile: hostile === 'hostile'});
const read = (name) => readFileSync(`${parts}/${name}`, 'utf8');
writeFileSync(output, page_text(read('page_head.html'), read('page_tail.html'), index, blocks));
console.log(`${written} slices`);
