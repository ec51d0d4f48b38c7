// `npm run check` checks types, lint, unused exports and boundaries. Boundaries are the arrows between packages and the
// files that each package publishes. With `--words [--json]` it only lists awkward phrases.
import './refuse-old-node.mjs';
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const bin = (name) => path.join(root, 'node_modules/.bin', name);

export const checks = [
  ['format', bin('biome'), ['format', '--error-on-warnings', '.']],
  ['packages', process.execPath, ['.ci/packages.mjs', '--check']],
  ['manual', bin('tsx'), ['--tsconfig', 'tsconfig.check.json', '.ci/manual.mjs', '--check']],
  ['figures', process.execPath, ['.ci/figures.mjs', '--check']],
  ['words', process.execPath, ['.ci/words.mjs']],
  ['types', bin('tsc'), ['-p', 'tsconfig.check.json']],
  ['types of the page', bin('tsc'), ['-p', 'packages/studio/page/tsconfig.json']],
  [
    'lint',
    bin('oxlint'),
    ['--type-aware', '--deny-warnings', 'packages', 'adapters', 'trainer/src', 'tutorial', 'examples', 'test'],
  ],
  ['unused exports', bin('knip'), ['--no-progress']],
  ['boundaries', bin('vitest'), ['run', 'test/boundaries']],
];

/** Runs one check. It prints the check's output only if the check fails. */
function runCheck([label, command, args]) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  child.once('error', (error) => (said += error));
  return new Promise((resolve) =>
    child.once('close', (code) => {
      console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${label}`);
      if (code !== 0) console.log(said);
      resolve(code === 0);
    }),
  );
}

/**
 * Runs two checks at a time, since most keep one core busy. Returns one boolean per check, in order: true if it passed.
 */
export async function runChecks(wanted) {
  const results = [];
  const left = [...wanted.entries()];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results[next[0]] = await runCheck(next[1]);
  };
  await Promise.all([work(), work()]);
  return results;
}

if (process.argv[1] === import.meta.filename) {
  await import('./setup.mjs'); // lint reads the types from the build
  if (process.argv.includes('--words')) {
    const words = [path.join(root, '.ci/words.mjs'), ...process.argv.slice(2)];
    process.exit(spawnSync(process.execPath, words, { stdio: 'inherit' }).status ?? 1);
  }
  const results = await runChecks(checks);
  process.exit(results.every(Boolean) ? 0 : 1);
}
