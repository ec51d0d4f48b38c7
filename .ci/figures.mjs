// `npm run figures` fills the figures of all pages from the results that the benchmarks keep. With `--check` it writes
// nothing, and fails if a page differs from its results.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fillFigures } from './fill-figures.mjs';
import { findNewestResult } from './newest-result.mjs';
import { root } from './workspaces.mjs';

const notOurs = new Set(['node_modules', 'dist', 'saved_experiments']);

function pagesUnder(folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return notOurs.has(entry.name) || entry.name.startsWith('.') ? [] : pagesUnder(name);
    return entry.name.endsWith('.md') ? [name] : [];
  });
}

const read = (file) => readFileSync(path.join(root, file), 'utf8');
const isCheck = process.argv.includes('--check');

/** Returns the lines that differ from the results. */
function staleLines(page, fresh) {
  const now = fresh.split('\n');
  return page.split('\n').flatMap((line, at) => (line === now[at] ? [] : [`  line ${at + 1}: ${line.trim()}`]));
}

async function update(file) {
  const page = read(file);
  const fresh = await fillFigures(page, (result) => JSON.parse(read(findNewestResult(result, root))));
  if (fresh === page) return true;
  if (isCheck)
    console.log([`${file} differs from its results: run \`npm run figures\`.`, ...staleLines(page, fresh)].join('\n'));
  else console.log(`wrote ${file}`);
  if (!isCheck) writeFileSync(path.join(root, file), fresh);
  return !isCheck;
}

let isFine = true;
for (const file of pagesUnder('')) {
  try {
    isFine = (await update(file)) && isFine;
  } catch (error) {
    console.log(`${file}: ${error.message}`);
    isFine = false;
  }
}
process.exit(isFine ? 0 : 1);
