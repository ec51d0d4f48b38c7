import assert from 'node:assert/strict';
import type { ContractCase, Task } from '@agentjet/core';
import {
  isAgentsFailure,
  runEpisode,
  sampledElsewhere,
  type Environment,
  type Episode,
  type Tuner,
} from '@agentjet/rollout';
import { CounterWorld } from './counter-world.js';
import { attacks, type Attack, type RequestKind } from './faults.js';
import { act, type StartWorld } from './world-server.js';

/** The words that an error must contain, in any of the protocols. */
const words: Readonly<Record<Attack, RegExp>> = {
  flood: /more than 33554432 bytes|Max payload size exceeded/,
  nest: /nests more than 256 lists and objects/,
  drip: /opened no session in|gave no answer to/,
  foreign: /another (instance|session)|"task_id":"another"|an answer without a request/,
};

const patienceMs = 400;

const task: Task = { taskId: 'a', mainQuery: '', initMessages: [], metadata: { id: 'a' } };

/** A workflow whose reward is the environment's verdict. */
async function play(given: Task, tuner: Tuner): Promise<{ reward: number }> {
  const session = await tuner.openEnvironment(given);
  for (let count = 1; count <= 2; count++) await act(session, `act ${count}`);
  return { reward: (await session.evaluate()).reward };
}

function runOne(environment: Environment, callTimeoutMs: number): Promise<Episode> {
  const host = { environment, openTimeoutMs: callTimeoutMs, callTimeoutMs };
  return runEpisode(
    task,
    {
      workflow: play,
      policy: { kind: 'chat', model: { name: 'none', generate: () => Promise.reject(new Error('no model')) } },
      sampling: sampledElsewhere,
      timeoutMs: 600_000,
      environment: host,
    },
    { episodeId: 'attacked', repeatIndex: 0, seed: 1, signal: AbortSignal.timeout(600_000) },
  );
}

async function check(start: StartWorld, kind: RequestKind, attack: Attack): Promise<void> {
  const world = new CounterWorld();
  const { environment, close } = await start(world, (asked) => (asked === kind ? attack : 'none'));
  try {
    const episode = await runOne(environment, attack === 'drip' ? patienceMs : 600_000);
    assert.equal(episode.status, 'failed', `The episode got the reward ${JSON.stringify(episode)}.`);
    assert.match(episode.error.message, words[attack]);
    assert.equal(isAgentsFailure(episode.error), false, 'The agent is blamed.');
    for (let waited = 0; world.open.size > 0; waited += 5) {
      assert.ok(waited < 20_000, 'A session was left open.');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.deepEqual(world.appliedTwice, []);
  } finally {
    await environment.close?.();
    await close();
  }
}

/**
 * The contract of every client with a hostile server: the episode fails with an error that gives the reason, gets no reward, and leaves no
 * session. `asked` lists the kinds of requests that the protocol has; `named` lists those whose answers name their session.
 */
export function attackCases(
  start: StartWorld,
  { asked, named }: { readonly asked: readonly RequestKind[]; readonly named: readonly RequestKind[] },
): readonly ContractCase[] {
  return attacks.flatMap((attack) =>
    (attack === 'foreign' ? named : asked).map((kind) => ({
      name: `gives no reward and leaves nothing open if the server attacks (${kind}, ${attack})`,
      run: () => check(start, kind, attack),
    })),
  );
}
