// `npm run words`: lowers the number of times that each awkward phrase may still occur, in .ci/word-counts.json, to what occurs today. With `--check` it
// writes nothing and fails if a phrase occurs more often than that, so the numbers only fall. Comments, strings and pages are read alike.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './workspaces.mjs';

/** Each phrase, and what to write instead. */
const phrases = {
  'of its own': ['of its own', 'its own X, a separate X, or nothing'],
  'of their own': ['of their own', 'their own X, separate X, or nothing'],
  whoever: ['whoever', 'the person or the part that is meant'],
  whatever: ['whatever', 'what is meant, or "any"'],
  'a text': ['a text', '"a string", or "text"'],
  stands: ['stands?', '"is", or where the thing is'],
  'is no': ['(?<!there )is no(?! longer| more)', '"is not a"'],
  behind: ['behind', '"after", or "through"'],
  beside: ['beside', '"next to", or "in addition to"'],
};
const countsFile = path.join(root, '.ci/word-counts.json');
const notOurs = new Set([
  'node_modules',
  'dist',
  'saved_experiments',
  'results',
  'golden',
  '__pycache__',
  'data',
  'model',
]);
const isRead = (name) => /\.(ts|mts|mjs|js|py|sh|md|yaml)$/.test(name) && name !== 'words.mjs';

function filesUnder(folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    const isOurs = !notOurs.has(entry.name) && (!entry.name.startsWith('.') || entry.name === '.ci');
    if (entry.isDirectory()) return isOurs ? filesUnder(name) : [];
    return isRead(entry.name) ? [name] : [];
  });
}

/** Where a phrase occurs; a line break and the comment mark that follows it are a space. */
function placesOf(pattern, sources) {
  const search = new RegExp(`\\b${pattern.replaceAll(' ', '(?:\\s+(?:\\*|//|#)?\\s*)')}\\b`, 'gi');
  return sources.flatMap(({ file, source }) =>
    [...source.matchAll(search)].map(({ index }) => `${file}:${source.slice(0, index).split('\n').length}`),
  );
}

const newestFirst = (files) =>
  files
    .map((file) => ({ file, changedAt: statSync(path.join(root, file)).mtimeMs }))
    .sort((left, right) => right.changedAt - left.changedAt)
    .map(({ file }) => ({ file, source: readFileSync(path.join(root, file), 'utf8') }));

const allowed = JSON.parse(readFileSync(countsFile, 'utf8'));
const sources = newestFirst(filesUnder(''));
const found = Object.entries(phrases).map(([phrase, [pattern, instead]]) => ({
  phrase,
  instead,
  places: placesOf(pattern, sources),
}));
const tooMany = found.filter(({ phrase, places }) => places.length > (allowed[phrase] ?? 0));
for (const { phrase, instead, places } of tooMany)
  console.log(
    [
      `"${phrase}" occurs ${places.length} times, ${allowed[phrase] ?? 0} are allowed. Write ${instead}. In the files changed last:`,
      ...places.slice(0, 8).map((place) => `  ${place}`),
    ].join('\n'),
  );
if (!process.argv.includes('--check')) {
  const lowered = found.map(({ phrase, places }) => [
    phrase,
    Math.min(places.length, allowed[phrase] ?? places.length),
  ]);
  writeFileSync(countsFile, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`);
}
process.exit(tooMany.length === 0 ? 0 : 1);
