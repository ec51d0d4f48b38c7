/**
 * `npm run swarm:mutants [-- --json] [-- --only "<name>"] [-- --keep]` plants known mistakes into the swarm's sources,
 * one at a time, and checks that the simulation or a scripted scenario notices each. What found a mutant last is tried
 * first; only if it finds nothing, all scenarios and up to `--runs` seeds follow. `--keep` remembers in found-by.json
 * what found each mutant, and `--full` ignores it. With --json the last line is
 * `{ "planted", "killed", "found_as_before", "slowest_runs" }`. The exit code is 1 if a mutant survives.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../../.ci/workspaces.mjs';
import { inParallel } from '../../bench/in-parallel.js';
import { buildHunt } from './build-hunt.js';
import { describeFinder, type Finder, type FoundBy, type Hunt, type HuntOrder } from './finders.js';
import { swarmMutants, type SwarmMutant } from './swarm-mutants.js';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    only: { type: 'string' },
    runs: { type: 'string', default: '2000' },
  },
});
const hintsFile = path.join(import.meta.dirname, 'found-by.json');
const foundBy = JSON.parse(await readFile(hintsFile, 'utf8')) as FoundBy;

const chosen = swarmMutants.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) throw new Error(`There is no mutant ${JSON.stringify(values.only)}.`);

const cache = path.join(root, 'node_modules/.cache');
await mkdir(cache, { recursive: true });
const dir = await mkdtemp(path.join(cache, 'swarm-mutants-'));
try {
  process.exitCode = (await huntAll()) ? 0 : 1;
} finally {
  await rm(dir, { recursive: true, force: true });
}

/** Hunts the chosen mutants, two at a time, and prints a report. Returns whether all were found. */
async function huntAll(): Promise<boolean> {
  await requireHealthy();
  const results = new Map<string, Hunt>();
  await inParallel(chosen, Math.min(2, availableParallelism()), async (mutant) => {
    const result = await hunt(mutant, { first: hintsOf(mutant), maxRuns: Number(values.runs) });
    results.set(mutant.name, result);
    if (!values.json) console.log(describe(mutant, result));
  });
  if (values.keep) await keepFinders(results);
  return report(results);
}

/** Checks that the sources pass without a mutant, also with what found a mutant. */
async function requireHealthy(): Promise<void> {
  const order = { first: chosen.flatMap(hintsOf), maxRuns: 50 };
  const { killedBy, violation } = await hunt({ name: 'no mutant', edits: [] }, order);
  if (killedBy !== null) throw new Error(`Without a mutant: ${describeFinder(killedBy)}: ${violation}`);
}

function hintsOf({ name }: SwarmMutant): readonly Finder[] {
  const finder = values.full ? undefined : foundBy[name];
  return finder === undefined ? [] : [finder];
}

async function hunt(mutant: SwarmMutant, order: HuntOrder): Promise<Hunt> {
  const file = path.join(dir, `${swarmMutants.indexOf(mutant)}.mjs`);
  await buildHunt(mutant, file);
  const output = await runNode([file, JSON.stringify(order)]);
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '') as Hunt;
}

function runNode(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: root, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (stdout.includes('killedBy')) resolve(stdout);
      else reject(new Error(`The hunt gave no result: ${stderr || (error?.message ?? 'no output')}`));
    });
  });
}

function describe({ name }: SwarmMutant, { killedBy, runs, violation }: Hunt): string {
  if (killedBy === null) return `${name}\n  SURVIVED ${runs} runs`;
  return `${name}\n  killed by ${describeFinder(killedBy)}${runs > 0 ? ` after ${runs} runs` : ''}: ${violation}`;
}

/** Writes what found each mutant, in the order of the mutants. */
async function keepFinders(results: ReadonlyMap<string, Hunt>): Promise<void> {
  const finderOf = (name: string): Finder | undefined => {
    const killedBy = results.get(name)?.killedBy;
    return typeof killedBy === 'object' && killedBy !== null ? killedBy : foundBy[name];
  };
  const entries = swarmMutants.map(({ name }) => [name, finderOf(name)] as const);
  await writeFile(hintsFile, `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`);
}

function report(results: ReadonlyMap<string, Hunt>): boolean {
  const hunts = [...results.entries()];
  const killed = hunts.filter(([, { killedBy }]) => killedBy !== null).length;
  const asBefore = hunts.filter(([name, hunted]) => JSON.stringify(hunted.killedBy) === JSON.stringify(foundBy[name]));
  const summary = {
    planted: chosen.length,
    killed,
    found_as_before: asBefore.length,
    slowest_runs: Math.max(...hunts.map(([, { runs }]) => runs)),
  };
  console.log(values.json ? JSON.stringify(summary) : `${killed} of ${chosen.length} mutants killed`);
  return killed === chosen.length;
}
