/**
 * Is a session ever left open, or a step applied twice? A thousand episodes for each protocol act in a world whose
 * server drops, delays, repeats and cuts answers. Some throw, and some are stopped in the middle. The world itself
 * counts the sessions and steps.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { createRandom, deriveSeed, type Task } from '@agentjet/core';
import {
  act,
  CounterWorld,
  randomFaults,
  startAgentjetWorld,
  startAppworldWorld,
  startLocalWorld,
  startMcpWorld,
  startOpenenvWorld,
  type StartWorld,
} from '@agentjet/environments/testing';
import { runEpisode, sampledElsewhere, type Environment, type Episode, type Tuner } from '@agentjet/rollout';
import { inParallel } from '../in-parallel.js';
import { median, numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';

const parallel = 32;

const protocols: Readonly<Record<string, StartWorld>> = {
  in_process: startLocalWorld,
  agentjet: startAgentjetWorld,
  openenv: startOpenenvWorld,
  mcp: startMcpWorld,
  appworld: startAppworldWorld(parallel),
};

export const optionTexts: OptionTexts = { '--sessions <n>': 'default 1000', '--seed <n>': 'default 1' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const sessions = numberOption(args, '--sessions', 1000);
  const seed = numberOption(args, '--seed', 1);
  const measured = [];
  for (const [protocol, start] of Object.entries(protocols)) {
    const result = await benchProtocol(start, { sessions, seed: deriveSeed(seed, protocol) });
    report(`${protocol}: ${JSON.stringify({ ...result.summary, ...result.details })}`);
    measured.push([protocol, result] as const);
  }
  return {
    summary: Object.fromEntries(measured.map(([protocol, { summary }]) => [protocol, summary])),
    details: { ends: Object.fromEntries(measured.map(([protocol, { details }]) => [protocol, details])) },
  };
}

type Options = { readonly sessions: number; readonly seed: number };

export async function benchProtocol(start: StartWorld, { sessions, seed }: Options) {
  const world = new CounterWorld();
  const faults = new Map<string, number>();
  const plan = randomFaults({ seed, share: 0.08 });
  const { environment, close } = await start(world, (kind) => {
    const fault = plan(kind);
    if (fault !== 'none') faults.set(fault, (faults.get(fault) ?? 0) + 1);
    return fault;
  });
  const times: number[] = [];
  const ends = { completed: 0, outage: 0, failed: 0 };
  await inParallel([...Array(sessions).keys()], parallel, async (episode) => {
    const ended = await play(environment, { episode, seed, times });
    ends[endOf(ended)]++;
  });
  const leaked = await countLeaked(world);
  await environment.close?.();
  await close();
  return {
    summary: {
      sessions: world.opened,
      leaked,
      steps_twice: world.appliedTwice.length,
      call_ms: Math.round(100 * median(times)) / 100,
    },
    details: { episodes: sessions, ...ends, steps: world.applied.size, faults: Object.fromEntries(faults) },
  };
}

type Play = { readonly episode: number; readonly seed: number; readonly times: number[] };

/** One episode in seven throws, and one in seven is stopped while it acts. */
async function play(environment: Environment, { episode, seed, times }: Play): Promise<Episode> {
  const random = createRandom(deriveSeed(seed, 'episode', episode));
  const fate = random.int(7);
  const stopAt = random.int(5);
  const controller = new AbortController();
  const workflow = async (task: Task, tuner: Tuner) => {
    const session = await tuner.openEnvironment(task);
    for (let step = 0; step < 5; step++) {
      if (fate === 0 && step === stopAt) throw new Error('the agent is lost');
      if (fate === 1 && step === stopAt) setImmediate(() => controller.abort());
      const before = performance.now();
      await act(session, `${episode} step ${step}`);
      times.push(performance.now() - before);
    }
    return { reward: (await session.evaluate()).reward };
  };
  return runEpisode(
    { taskId: `task-${episode % 16}`, mainQuery: '', initMessages: [], metadata: {} },
    {
      workflow,
      policy: { kind: 'chat', model: { name: 'none', generate: () => Promise.reject(new Error('no model')) } },
      sampling: sampledElsewhere,
      timeoutMs: 120_000,
      environment: { environment, openTimeoutMs: 60_000, callTimeoutMs: 30_000 },
    },
    { episodeId: `e${episode}`, repeatIndex: 0, seed: episode, signal: controller.signal },
  );
}

function endOf(episode: Episode): 'completed' | 'outage' | 'failed' {
  if (episode.status === 'completed') return 'completed';
  return episode.error.outage === undefined ? 'failed' : 'outage';
}

/**
 * Counts sessions that are still open. It waits a moment first, because a session ends only after its socket has
 * closed.
 */
async function countLeaked(world: CounterWorld): Promise<number> {
  for (let look = 0; look < 300 && world.open.size > 0; look++) await wait(100);
  return world.open.size;
}
