import { randomUUID } from 'node:crypto';
import { callEngine, findBoxEngine, boxEngines } from '@agentjet/sandbox/boxes';
import { inParallel } from '../in-parallel.js';
import { doNothing, openBench, playTask, readTasks } from './play.js';

/**
 * What does a session cost in addition to the engine's own start, exec and remove? Both run at the same time limit of
 * eight at once and take turns. The whole episode with its verifier is measured too.
 */

export type Overhead = {
  readonly overheadPercent: number;
  readonly wholeEpisodeMs: number;
  readonly bareMs: number;
  readonly heapGrowthMegabytes: number;
};

const parallel = 8;
const rounds = 5;

export async function measureOverhead(episodes: number): Promise<Overhead> {
  const engine = findBoxEngine(boxEngines);
  if (typeof engine === 'string') throw new Error(engine);
  const environment = openBench({ engine });
  const task = (await readTasks()).find(({ taskId }) => taskId === 'shared-file');
  if (task === undefined) throw new Error('The task shared-file is missing.');
  const bare = async (): Promise<void> => {
    const name = `ajet-bare-${randomUUID()}`;
    const run = ['run', '-d', '--name', name, '--pull', 'never', 'localhost/ajet-base:1', 'sh', '-c', 'exec sleep 600'];
    const remove = ['rm', '-f', ...(engine.name === 'podman' ? ['-t', '0'] : []), name];
    for (const args of [run, ['exec', name, 'true'], remove]) await callEngine(engine, args, { seconds: 120 });
  };
  const session = async (): Promise<void> => {
    const options = { seed: 1, signal: new AbortController().signal, episodeId: 'overhead' };
    await (await environment.open(task, options)).close();
  };
  await session(); // builds the image
  const before = heap();
  const times = { bare: 0, session: 0 };
  for (let round = 0; round < rounds; round++) {
    times.bare += await timeOf(bare, episodes / rounds);
    times.session += await timeOf(session, episodes / rounds);
  }
  const whole = await timeOf(async () => void (await playTask(environment, task, doNothing)), parallel * 2);
  return {
    overheadPercent: Number((100 * (times.session / times.bare - 1)).toFixed(1)),
    wholeEpisodeMs: Math.round(whole / (parallel * 2)),
    bareMs: Math.round(times.bare / episodes),
    heapGrowthMegabytes: Number((heap() - before).toFixed(1)),
  };
}

function heap(): number {
  global.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

async function timeOf(work: () => Promise<void>, count: number): Promise<number> {
  const began = performance.now();
  await inParallel(Array(count).fill(null), parallel, work);
  return performance.now() - began;
}
