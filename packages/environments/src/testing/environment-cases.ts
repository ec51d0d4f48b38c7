import assert from 'node:assert/strict';
import { EnvironmentError, EnvironmentOutage, type ContractCase, type Task } from '@agentjet/core';
import type { Environment, Session } from '@agentjet/rollout';
import { CounterWorld } from './counter-world.js';
import { faultOnce, faults, noFaults, randomFaults, type Fault, type FaultPlan, type RequestKind } from './faults.js';
import { act, type StartWorld } from './world-server.js';

const task = (taskId = 'a'): Task => ({ taskId, mainQuery: '', initMessages: [], metadata: { id: taskId } });

function open(
  environment: Environment,
  episodeId: string,
  given = task(),
  signal = AbortSignal.timeout(60_000),
): Promise<Session> {
  return environment.open(given, { seed: 7, signal, episodeId });
}

/** Runs `use` with a new server, and checks its world afterwards: nothing may be open, and nothing may have happened twice. */
async function inWorld(
  start: StartWorld,
  plan: FaultPlan,
  use: (environment: Environment, world: CounterWorld) => Promise<void>,
): Promise<void> {
  const world = new CounterWorld();
  const { environment, close } = await start(world, plan);
  try {
    await use(environment, world);
    await until(
      () => world.open.size === 0,
      () => `Sessions were left open: ${[...world.open.keys()].join(', ')}.`,
    );
    assert.deepEqual(world.appliedTwice, [], 'Actions were applied twice.');
  } finally {
    await environment.close?.();
    await close();
  }
}

async function until(isTrue: () => boolean, message: () => string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, message());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function checkWalk(environment: Environment): Promise<void> {
  const session = await open(environment, 'walk');
  assert.match(session.observation.text, /at 0$/);
  for (let count = 1; count <= 5; count++)
    assert.deepEqual(await act(session, `walk ${count}`), { text: `walk ${count} at ${count}`, isDone: count === 5 });
  const verdict = await session.evaluate?.();
  assert.ok(Math.abs((verdict?.reward ?? 0) - 1) < 1e-9, `The verdict is ${JSON.stringify(verdict)}.`);
  assert.equal(verdict?.isSuccess, true);
  await session.close();
}

async function checkApart(environment: Environment): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: 8 }, (_, at) => open(environment, `e${at}`)));
  const texts = await Promise.all(
    sessions.map(async (session, at) => {
      for (let count = 0; count <= at % 4; count++) await act(session, `${at} acts ${count}`);
      return (await act(session, `${at} last`)).text;
    }),
  );
  assert.deepEqual(
    texts,
    sessions.map((_, at) => `${at} last at ${(at % 4) + 2}`),
  );
  for (const session of sessions) await session.close();
}

async function checkRefusal(environment: Environment): Promise<void> {
  const session = await open(environment, 'refused');
  await assert.rejects(
    act(session, 'bad words'),
    (error) => error instanceof EnvironmentError && error.code === 'refused',
  );
  assert.equal((await act(session, 'good words')).text, 'good words at 1');
  await session.close();
}

async function checkUnknown(environment: Environment): Promise<void> {
  await assert.rejects(
    open(environment, 'unknown', task('unknown')),
    (error) => error instanceof EnvironmentError && error.code === 'not_opened' && /unknown/.test(error.message),
  );
}

async function checkClose(environment: Environment, world: CounterWorld): Promise<void> {
  const session = await open(environment, 'closed');
  await Promise.all([session.close(), session.close()]);
  await session.close();
  await assert.rejects(act(session, 'too late'));
  assert.equal(world.applied.size, 0);
}

async function checkAbort(environment: Environment): Promise<void> {
  const controller = new AbortController();
  const opening = open(environment, 'aborted', task(), controller.signal);
  controller.abort(new Error('nobody waits'));
  const session = await opening.catch((error: unknown) => {
    assert.match(String(error), /nobody waits/);
  });
  await session?.close();
}

/** The fault must end the session as an outage or have no effect. In no case may the action happen twice. */
async function checkAct(environment: Environment, world: CounterWorld, fault: Fault): Promise<void> {
  const session = await open(environment, 'faulty');
  const acted = await act(session, 'once').catch((error: unknown) => error);
  if (acted instanceof Error) assert.ok(acted instanceof EnvironmentOutage, `${fault} is reported as ${acted}.`);
  else assert.deepEqual(acted, { text: 'once at 1', isDone: false });
  assert.ok((world.applied.get('once') ?? 0) <= 1);
  await session.close();
}

/** Acts once and asks for the verdict. The verdict must be right, or the session must end as an outage. */
async function checkRepeats(environment: Environment): Promise<void> {
  const session = await open(environment, 'repeats');
  await act(session, 'repeats 1');
  const verdict = await session.evaluate?.().catch((error: unknown) => assert.ok(error instanceof EnvironmentOutage));
  if (verdict !== undefined) assert.ok(Math.abs(verdict.reward - 0.2) < 1e-9);
  await session.close();
}

const manySessions = 24;

async function checkMany(environment: Environment, world: CounterWorld): Promise<void> {
  let numLost = 0;
  const play = async (episode: number): Promise<void> => {
    const session = await open(environment, `many-${episode}`);
    try {
      for (let count = 1; count <= 5; count++) {
        const { text } = await act(session, `${episode} many ${count}`);
        assert.equal(text, `${episode} many ${count} at ${count}`);
      }
    } finally {
      await session.close();
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: manySessions }, (_, episode) => play(episode)));
  for (const result of settled) {
    if (result.status === 'fulfilled') continue;
    assert.ok(result.reason instanceof EnvironmentOutage, `A fault is reported as ${String(result.reason)}.`);
    numLost++;
  }
  assert.ok(numLost < manySessions, 'Every session was lost.');
  assert.ok(world.opened >= manySessions - numLost);
}

async function checkTasks(environment: Environment): Promise<void> {
  if (environment.tasks === undefined) return;
  const ids: string[] = [];
  for await (const { taskId } of environment.tasks('train')) ids.push(taskId);
  assert.deepEqual(ids, ['a', 'b', 'c']);
}

/**
 * The contract of every client of an environment, including those of other authors: `for (const { name, run } of
 * environmentCases(start)) it(name, run)`. `start` serves a `CounterWorld` over the protocol, disturbs requests as the
 * plan says, and returns the client.
 */
export function environmentCases(start: StartWorld): readonly ContractCase[] {
  type Use = (environment: Environment, world: CounterWorld) => Promise<void>;
  const named = (name: string, use: Use, plan = (): FaultPlan => noFaults): ContractCase => ({
    name,
    run: () => inWorld(start, plan(), use),
  });
  const spoiled = (kind: RequestKind, name: string, use: (fault: Fault) => Use): readonly ContractCase[] =>
    faults.map((fault) => named(`${name} (${fault})`, use(fault), () => faultOnce(kind, fault)));
  return [
    named('walks to the end and is scored', checkWalk),
    named('keeps sessions apart', checkApart),
    named('continues after an action that was refused', checkRefusal),
    named('says so if a task cannot be opened', checkUnknown),
    named('closes once, and takes nothing afterwards', checkClose),
    named('leaves nothing open if nobody waits any more', checkAbort),
    named('lists the tasks of a split, if it has tasks', checkTasks),
    ...spoiled('act', 'acts once at most', (fault) => (environment, world) => checkAct(environment, world, fault)),
    ...spoiled('open', 'opens in spite of a fault', () => checkWalk),
    ...spoiled('evaluate', 'scores in spite of a fault, or loses the session', () => checkRepeats),
    ...spoiled('close', 'closes in spite of a fault', () => checkRepeats),
    named('leaves nothing open and repeats nothing in many sessions with faults', checkMany, () =>
      randomFaults({ seed: 11, share: 0.1 }),
    ),
  ];
}
