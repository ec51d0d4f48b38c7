import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import type { Cell } from './cells/cell.js';
import type { JudgeAgreement } from './cell-result.js';
import type { SeedResult } from './cell-result.js';
import { prepareCell } from './prepare-cell.js';
import { findRunDir, hashConfig, readSeedResult } from './read-seed-result.js';
import { ajet, readUsage, reporter, root, runNode, type Ended } from './run-node.js';
import { trainWithJudge } from './serve-judge.js';
import { serveWhile } from './serve-while.js';

/**
 * Trains one cell with one seed in a separate process, between two runs of the reference calculation. Speed is the
 * ratio of their processor times in the same minute, because wall time on a shared machine says little.
 */

const reference = path.join(import.meta.dirname, 'reference-calculation.mjs');

const readLoad = (): number => Number((loadavg()[0] ?? 0).toFixed(2));

const policyFolder = ({ servedPolicy }: Cell): readonly string[] =>
  servedPolicy === undefined ? [] : ['policies', servedPolicy];

/** Makes the run itself. A server is a second process. Its processor time counts too, and its memory instead of the client's. */
async function train(cell: Cell, scratch: string, args: readonly string[]): Promise<Ended> {
  const { servedPolicy, servedProgram, env = {} } = cell;
  if (servedPolicy === undefined && servedProgram === undefined) return runNode(scratch, [ajet, ...args], env);
  const program = servedProgram === undefined ? [] : ['--parallel', '8', '--', ...servedProgram];
  const report = path.join(scratch, 'server-usage.json');
  const command = ['--import', reporter, ajet, 'swarm', 'serve', '--port=0', ...args];
  type Address = { readonly url: string; readonly key: string };
  const place = { cwd: root, env: { ...env, USAGE_REPORT: report } };
  const ended = await serveWhile(command, place, ({ url, key }: Address) =>
    runNode(scratch, [ajet, 'swarm', 'run', '--server', url, ...args, ...program], { ...env, AJET_SWARM_KEY: key }),
  );
  const server = await readUsage(report);
  return { ...ended, cpuSeconds: ended.cpuSeconds + server.cpuSeconds, peakBytes: server.peakBytes };
}

type Trained = { readonly ended: Ended; readonly agreement?: JudgeAgreement; readonly baseUrl?: string };

async function trainJudged(cell: Cell, scratch: string, args: readonly string[]): Promise<Trained> {
  if (cell.judge === undefined) return { ended: await train(cell, scratch, args) };
  return trainWithJudge(cell, scratch, (settings) => train(cell, scratch, [...args, ...settings]));
}

/**
 * Runs one seed of a cell, reads the run folder and removes it. Rejects with the end of the program's errors if it
 * fails.
 */
export async function runSeed(
  cell: Cell,
  seed: number,
): Promise<{ readonly result: SeedResult; readonly configSha256: string }> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'release-'));
  const experimentDir = path.join(scratch, 'runs');
  try {
    const { settings, stages, rewarded } = await prepareCell(cell, { seed, scratch });
    const loadBefore = readLoad();
    const before = await runNode(scratch, [reference]);
    const args = [
      '--conf',
      path.join(root, cell.conf),
      '--json',
      `backbone=${cell.backbone}`,
      `experiment_dir=${experimentDir}`,
      `trainer_common.seed=${seed}`,
      ...cell.overrides,
      ...settings,
    ];
    const { ended, agreement, baseUrl } = await trainJudged(cell, scratch, args);
    const after = await runNode(scratch, [reference]);
    const runDir = await findRunDir(experimentDir);
    const speed = (before.cpuSeconds + after.cpuSeconds) / 2 / ended.cpuSeconds;
    return {
      result: await readSeedResult(path.join(runDir, ...policyFolder(cell)), {
        seed,
        speed,
        stages,
        rewarded,
        judge: agreement,
        seconds: ended.seconds,
        peakBytes: ended.peakBytes,
        load: [loadBefore, readLoad()],
      }),
      configSha256: await hashConfig(runDir, [
        root,
        scratch,
        ...(baseUrl === undefined ? [] : [path.dirname(baseUrl)]),
      ]),
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
