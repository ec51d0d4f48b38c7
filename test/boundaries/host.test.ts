import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../.ci/workspaces.mjs';

/**
 * The simulation of the swarm replaces time, randomness, disk and network. That works only if the code it runs takes
 * them only from its host.
 */

const simulated = ['packages/ledger/src', 'packages/swarm-server/src/swarm', 'packages/swarm-client/src'];

/** The files that touch the machine: hosts, the stores that write to a disk, and code that runs programs of others. */
const doors = /(^|\/)(host|[a-z-]+-host)\.ts$|\/lmdb\/|\/swarm-client\/src\/program\//;

const forbidden = [
  /\bDate\.now\b/,
  /\bnew Date\(\)/,
  /\bperformance\.now\b/,
  /\bMath\.random\b/,
  /\bset(Timeout|Interval|Immediate)\b/,
  /\brandom(UUID|Bytes)\b/,
  /'node:(fs|fs\/promises|net|http|https|child_process|timers|timers\/promises)'/,
  /(?<![.\w])fetch\(/,
];

function violationsIn(file: string): readonly string[] {
  const source = readFileSync(file, 'utf8');
  return forbidden
    .filter((pattern) => pattern.test(source))
    .map((pattern) => `${path.relative(root, file)}: ${pattern.source}`);
}

it.each(simulated)('%s reaches time, randomness, disk and network through its host alone', (dir) => {
  const files = readdirSync(path.join(root, dir), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('testing'))
    .map((file) => path.join(root, dir, file))
    .filter((file) => !doors.test(file));
  expect(files.length).toBeGreaterThan(2);
  expect(files.flatMap(violationsIn)).toEqual([]);
});

it('the rule sees what it forbids', () => {
  const samples = [
    'Date.now()',
    'Math.random()',
    'setTimeout(f)',
    "from 'node:fs'",
    'await fetch(url)',
    'randomUUID()',
  ];
  const unseen = samples.filter((sample) => !forbidden.some((pattern) => pattern.test(sample)));
  expect(unseen).toEqual([]);
});
