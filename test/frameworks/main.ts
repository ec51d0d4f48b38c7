/**
 * `npm run test:frameworks -- [mastra deepagents ...] [--json]` runs agents of real frameworks over a scripted engine.
 * `in-project/check.mjs` says what must hold. The exit code is 1 if a framework fails, or if one that you name cannot
 * be installed. With `--page`, it only puts the code of the cases into docs/frameworks.md.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { fillPage, pageFile } from './page.js';
import { frameworkNames } from './project.js';
import { tryFrameworks } from './try-frameworks.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, page: { type: 'boolean', default: false } },
});
if (values.page) {
  writeFileSync(pageFile, fillPage(readFileSync(pageFile, 'utf8')));
  process.exit();
}
const unknown = positionals.filter((name) => !frameworkNames.includes(name));
if (unknown.length > 0) {
  console.error(`There is no case "${unknown.join('", "')}". The cases are: ${frameworkNames.join(', ')}.`);
  process.exit(1);
}
const names = positionals.length === 0 ? frameworkNames : positionals;
const outcomes = tryFrameworks(names, (name, { version, ...outcome }) => {
  if (values.json) return;
  const said = 'not_tried' in outcome ? `not tried: ${outcome.not_tried}` : outcome.works ? 'works' : 'FAILS';
  console.log(`${name} ${version}: ${said}`);
  if ('complaints' in outcome) for (const complaint of outcome.complaints) console.log(`  ${complaint}`);
});
if (values.json) console.log(JSON.stringify(outcomes));
const isGood = Object.values(outcomes).every((outcome) =>
  'not_tried' in outcome ? positionals.length === 0 : outcome.works,
);
process.exitCode = isGood ? 0 : 1;
