// `npm run check`: types, lint, unused exports, and the boundaries: arrows between packages, and what each is packed with.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const bin = (name) => path.join(root, 'node_modules/.bin', name);

export const checks = [
  ['format', bin('biome'), ['format', '--error-on-warnings', '.']],
  ['packages', process.execPath, ['.ci/packages.mjs', '--check']],
  ['manual', bin('tsx'), ['--tsconfig', 'tsconfig.check.json', '.ci/manual.mjs', '--check']],
  ['figures', process.execPath, ['.ci/figures.mjs', '--check']],
  ['words', process.execPath, ['.ci/words.mjs', '--check']],
  ['types', bin('tsc'), ['-p', 'tsconfig.check.json']],
  [
    'lint',
    bin('oxlint'),
    ['--type-aware', '--deny-warnings', 'packages', 'adapters', 'trainer/src', 'training', 'tutorial', 'test'],
  ],
  ['unused exports', bin('knip'), ['--no-progress']],
  ['boundaries', bin('vitest'), ['run', 'test/boundaries']],
];

/** Runs one check, quiet when it passes. */
export function runCheck([label, command, args]) {
  const result = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    shell: process.platform === 'win32',
  });
  const passed = result.status === 0;
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${label}`);
  if (!passed) console.log(result.stdout, result.stderr, result.error ?? '');
  return passed;
}

if (process.argv[1] === import.meta.filename) {
  await import('./setup.mjs'); // lint reads the types of what is built
  const failed = checks.filter((check) => !runCheck(check));
  process.exit(failed.length === 0 ? 0 : 1);
}
