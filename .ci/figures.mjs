// `npm run figures` fills the figures of all pages from the results that the benchmarks keep, and writes
// docs/RESULTS.md, the list of all figures. With `--check` it writes nothing, and fails if a page differs from its
// results.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { computeFigures, fillFigures, quotedFigures } from './fill-figures.mjs';
import { findNewestResult } from './newest-result.mjs';
import { ownFiles } from './own-files.mjs';
import { resultsPage } from './results-page.mjs';
import { root } from './workspaces.mjs';

const resultsFile = 'docs/RESULTS.md';

const read = (file) => readFileSync(path.join(root, file), 'utf8');
const readResult = (file) => JSON.parse(read(findNewestResult(file, root)));
const isCheck = process.argv.includes('--check');
let isFine = true;

function fail(message) {
  console.log(message);
  isFine = false;
}

/** Returns the lines that differ from the results. */
function staleLines(page, fresh) {
  const now = fresh.split('\n');
  return page.split('\n').flatMap((line, at) => (line === now[at] ? [] : [`  line ${at + 1}: ${line.trim()}`]));
}

function update(file, page, fresh) {
  if (fresh === page) return;
  if (isCheck)
    fail([`${file} differs from its results: run \`npm run figures\`.`, ...staleLines(page, fresh)].join('\n'));
  else writeFileSync(path.join(root, file), fresh);
  if (!isCheck) console.log(`wrote ${file}`);
}

const groups = parse(read('docs/figures.yaml'));
try {
  const values = await computeFigures(groups, readResult);
  const quotedBy = new Map([...values.keys()].map((name) => [name, []]));
  for (const file of ownFiles().filter((name) => name.endsWith('.md') && name !== resultsFile)) {
    const page = read(file);
    try {
      update(file, page, fillFigures(page, values));
      for (const name of quotedFigures(page)) quotedBy.get(name).push(file);
    } catch (error) {
      fail(`${file}: ${error.message}`);
    }
  }
  const unquoted = [...quotedBy].filter(([, pages]) => pages.length === 0).map(([name]) => name);
  if (unquoted.length > 0) fail(`No page quotes these figures of docs/figures.yaml: ${unquoted.join(', ')}.`);
  update(
    resultsFile,
    existsSync(path.join(root, resultsFile)) ? read(resultsFile) : '',
    resultsPage(groups, values, quotedBy, (file) => findNewestResult(file, root), readResult),
  );
} catch (error) {
  fail(error.message);
}
process.exit(isFine ? 0 : 1);
