/**
 * `npm run swarm:mutants [-- --json] [-- --only "<name>"]` plants known mistakes into a copy of the swarm's sources,
 * one at a time, and checks that the simulation or a scripted scenario notices each. With --json the last line is
 * `{ "planted", "killed", "slowest_runs" }`. The exit code is 1 if a mutant survives.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { swarmMutants, type Edit, type SwarmMutant } from './swarm-mutants.js';

const root = path.resolve(import.meta.dirname, '../../..');
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    runs: { type: 'string', default: '2000' },
  },
});

type Hunt = { readonly killedBy: string | null; readonly runs: number; readonly violation: string | null };

const chosen = swarmMutants.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) throw new Error(`There is no mutant ${JSON.stringify(values.only)}.`);

const healthy = await hunt({ name: 'no mutant', edits: [] }, 50);
if (healthy.killedBy !== null) throw new Error(`Without a mutant: ${healthy.killedBy}: ${healthy.violation}`);

const queue = [...chosen];
let killed = 0;
let slowestRuns = 0;
await Promise.all(
  Array.from({ length: Math.min(2, availableParallelism()) }, async () => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const result = await hunt(mutant, Number(values.runs));
      if (result.killedBy !== null) killed++;
      slowestRuns = Math.max(slowestRuns, result.runs);
      if (!values.json) console.log(describe(mutant, result));
    }
  }),
);
const report = { planted: chosen.length, killed, slowest_runs: slowestRuns };
console.log(values.json ? JSON.stringify(report) : `${killed} of ${chosen.length} mutants killed`);
process.exitCode = killed === chosen.length ? 0 : 1;

/** Runs the scenarios and then seeds on a copy of the sources, until something fails. */
async function hunt(mutant: SwarmMutant, maxRuns: number): Promise<Hunt> {
  const dir = await mkdtemp(path.join(tmpdir(), 'swarm-mutant-'));
  try {
    await copySources(dir);
    for (const edit of mutant.edits) await plant(dir, mutant.name, edit);
    const output = await runNode(dir, [path.join(dir, 'test/swarm/mutants/hunt.ts'), String(maxRuns)]);
    const line = output.trimEnd().split('\n').at(-1) ?? '';
    return JSON.parse(line) as Hunt;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function copySources(dir: string): Promise<void> {
  for (const name of ['core', 'ledger', 'run', 'swarm-wire', 'swarm-client', 'swarm-server']) {
    await mkdir(path.join(dir, 'packages', name), { recursive: true });
    await cp(path.join(root, 'packages', name, 'src'), path.join(dir, 'packages', name, 'src'), { recursive: true });
    await cp(path.join(root, 'packages', name, 'package.json'), path.join(dir, 'packages', name, 'package.json'));
  }
  await cp(path.join(root, 'test/swarm'), path.join(dir, 'test/swarm'), { recursive: true });
  for (const file of ['package.json', 'tsconfig.base.json', 'tsconfig.check.json', 'tsconfig.paths.json']) {
    await cp(path.join(root, file), path.join(dir, file));
  }
  await symlink(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
}

async function plant(dir: string, name: string, { file, original, mutated }: Edit): Promise<void> {
  const target = path.join(dir, file);
  const source = await readFile(target, 'utf8');
  const count = source.split(original).length - 1;
  if (count !== 1) {
    throw new Error(
      `Cannot plant "${name}": ${file} holds ${JSON.stringify(original)} ${count} times. Bring test/swarm/mutants/swarm-mutants.ts up to date.`,
    );
  }
  await writeFile(
    target,
    source.replace(original, () => mutated),
  );
}

function runNode(dir: string, args: readonly string[]): Promise<string> {
  const tsx = path.join(root, 'node_modules/tsx/dist/cli.mjs');
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [tsx, '--tsconfig', path.join(dir, 'tsconfig.check.json'), ...args],
      { cwd: dir, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => {
        if (stdout.includes('killedBy')) resolve(stdout);
        else reject(new Error(`The hunt gave no result: ${stderr || (error?.message ?? 'no output')}`));
      },
    );
  });
}

function describe({ name }: SwarmMutant, { killedBy, runs, violation }: Hunt): string {
  if (killedBy === null) return `${name}\n  SURVIVED ${runs} runs`;
  return `${name}\n  killed by ${killedBy}${runs > 0 ? ` after ${runs} runs` : ''}: ${violation}`;
}
