// `npm run check -- --words [--json] [<paths>]` prints each sentence with a phrase of .ci/phrases.mjs, and fails if
// there is one.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ownFiles } from './own-files.mjs';
import { passagesOf } from './passages.mjs';
import { bannedIn, phrases, sentencesOf } from './phrases.mjs';
import { root } from './workspaces.mjs';

/** These files have to name the phrases. */
const namesThem = new Set(['.ci/phrases.mjs', 'test/house/phrases.test.ts']);

/**
 * Returns a file's number of sentences, and the phrases that it must not have. Returns undefined if people do not read
 * the file.
 */
function readWords(file) {
  const passages = passagesOf(readFileSync(path.join(root, file), 'utf8'), file);
  if (passages.length === 0) return undefined;
  const sentences = passages.flatMap(({ text, line }) => sentencesOf(text).map((sentence) => ({ sentence, line })));
  const banned = sentences.flatMap(({ sentence, line }) =>
    bannedIn(sentence).map(({ phrase, around }) => ({ phrase, place: `${file}:${line}: ${around}` })),
  );
  return { numSentences: sentences.length, banned };
}

const paths = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isAsked = (file) => paths.length === 0 || paths.some((each) => file.startsWith(each.replace(/^\.\/|\/$/g, '')));
const isRead = /\.(?:[cm]?[jt]s|py|sh|md|ya?ml|toml|service)$|Dockerfile$|^\.ci\/\w+$/;
const files = ownFiles().filter((file) => isRead.test(file) && !namesThem.has(file) && isAsked(file));
const read = files.map(readWords).filter((found) => found !== undefined);
const banned = read.flatMap((found) => found.banned);

for (const { phrase, instead } of phrases) {
  const places = banned.filter((found) => found.phrase === phrase).map(({ place }) => place);
  if (places.length === 0) continue;
  console.log(`"${phrase}" occurs ${places.length} times. Write ${instead}:`);
  for (const place of places) console.log(`  ${place}`);
}
const summary = {
  files: read.length,
  sentences: read.reduce((sum, { numSentences }) => sum + numSentences, 0),
  banned: banned.length,
};
if (process.argv.includes('--json')) console.log(JSON.stringify(summary));
else console.log(`${summary.files} files, ${summary.sentences} sentences, ${summary.banned} banned phrases`);
process.exitCode = banned.length === 0 ? 0 : 1; // an exit would cut output that a pipe has not taken yet
