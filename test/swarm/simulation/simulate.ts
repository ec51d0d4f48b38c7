import { toErrorMessage } from '@agentjet/core';
import {
  accountOf,
  defaultPolicy,
  episodePart,
  foldStore,
  lineOf,
  type LedgerGroup,
  type LedgerState,
} from '@agentjet/ledger';
import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { Audit } from './audit.js';
import { ClientProcess } from './client-process.js';
import { misfortunes } from './misfortunes.js';
import { Network } from './network.js';
import { Operator } from './operator.js';
import { ServerProcess, type Shared } from './server-process.js';
import { drawSettings, type RunSettings } from './settings.js';
import { ToyCheckpoints, type ToyWeights } from './toy-trainer.js';
import { World } from './world.js';

/**
 * Makes one run with clients, a scorer, an operator and servers. For a while, faults happen that depend on the seed.
 * Then there are no more faults, and the run continues until all work is done. At the end, the ledger, the weights and
 * the audit of what clients learned must agree.
 */

export type RunResult = {
  readonly seed: number;
  readonly settings: RunSettings;
  readonly violations: readonly string[];
  readonly episodesTrained: number;
  readonly steps: number;
  readonly events: number;
  readonly account: ReturnType<typeof accountOf> | undefined;
};

const busyMs = 14_000;
const calmMs = 6_000;
const drainMs = 60_000;

export async function simulate(seed: number): Promise<RunResult> {
  const world = new World(seed);
  const parts = createParts(world);
  const { audit, network, disk, clients, operator, servers, run } = parts;
  try {
    misfortunes(parts);
    await world.runUntil(busyMs);
    world.hasFaults = false;
    network.cut.clear();
    await world.runUntil(busyMs + calmMs);
    operator.operate('drain').catch((error: unknown) => audit.require(false, `drain: ${error}`));
    await drain(parts);
    for (const client of clients) client.stop();
    operator.isStopped = true;
    await world.runUntil(world.now + 1000);
  } catch (error) {
    audit.require(false, `a part of the run threw: ${toErrorMessage(error)}`);
  }
  const state = foldAtEnd(disk, audit);
  const trainers = servers.findLast(({ isStopped }) => !isStopped)?.trainers;
  if (state !== undefined) {
    checkEnd(state, audit);
    for (const policy of run.policies) checkPolicy(state, { policy, weights: trainers?.get(policy)?.published }, audit);
  }
  return {
    seed,
    settings: run,
    violations: [...audit.violations],
    episodesTrained: state === undefined ? 0 : accountOf(state).trained,
    steps: state === undefined ? 0 : run.policies.reduce((sum, policy) => sum + lineOf(state, policy).step, 0),
    events: world.numEvents,
    account: state === undefined ? undefined : accountOf(state),
  };
}

export type Parts = Shared & {
  readonly clients: readonly ClientProcess[];
  readonly operator: Operator;
  readonly servers: ServerProcess[];
  readonly code: { revision: number };
};

function createParts(world: World): Parts {
  const run = drawSettings(world.seed);
  const audit = new Audit();
  const network = new Network(world, audit);
  const disk = new MemoryDisk();
  const servers: ServerProcess[] = [];
  const code = { revision: 1 };
  const checkpoints = new Map(run.policies.map((policy) => [policy, new ToyCheckpoints()]));
  const shared: Shared = {
    world,
    network,
    audit,
    run,
    disk,
    checkpoints: (policy) => checkpoints.get(policy) ?? new ToyCheckpoints(),
    tasks: {
      trainingTask: (draw, share) => ({ taskId: `${share}${draw}`, seed: world.seed }),
      evaluationTask: (index) => ({ taskId: `v${index}`, seed: world.seed }),
    },
    crash: (server) => {
      server.kill();
      if (!world.chance(0.4)) return;
      for (const other of servers) other.kill();
      disk.cutPower(world.random);
    },
  };
  servers.push(new ServerProcess(shared));
  const clients = Array.from({ length: run.isQuiet ? 2 : 6 }, (_none, index) => {
    const name = `c${index}`;
    const can = run.shares === undefined ? ['default'] : (abilities[index % abilities.length] ?? []);
    return new ClientProcess({
      ...shared,
      servers,
      name,
      revision: () => code.revision,
      isJudged: run.isJudged,
      policies: run.policies,
      can,
    });
  });
  const operator = new Operator(world, network, audit);
  operator.score().catch((error: unknown) => audit.require(false, `the scorer stopped: ${toErrorMessage(error)}`));
  return { ...shared, clients, operator, servers, code };
}

/** The shares that clients run, if there are shares. */
const abilities = [['a'], ['b'], ['a', 'b']];

/**
 * Waits until no work has been open for a while. It waits this long because an evaluation may begin after the last
 * step.
 */
async function drain({ world, servers }: Parts): Promise<void> {
  let quietSeconds = 0;
  for (const endMs = world.now + drainMs; world.now < endMs && quietSeconds < 8; ) {
    await world.runUntil(world.now + 1000);
    quietSeconds = isDrained(servers) ? quietSeconds + 1 : 0;
  }
}

function isDrained(servers: readonly ServerProcess[]): boolean {
  const swarm = servers.findLast(({ isStopped }) => !isStopped)?.swarm;
  if (swarm === undefined) return false;
  const { state } = swarm.context.ledger;
  const isOver = [...state.groups.values()].every(({ fate }) => fate !== undefined && fate !== 'assigned');
  const isReturned = [...state.schedules.values()].some(({ returned }) => returned.size > 0);
  return state.operation.isDraining && !isReturned && isOver;
}

function foldAtEnd(disk: MemoryDisk, audit: Audit): LedgerState | undefined {
  try {
    return foldStore(new MemoryStore(disk)).state;
  } catch (error) {
    audit.require(false, toErrorMessage(error));
    return undefined;
  }
}

/**
 * Checks that every acknowledged episode is trained exactly once, or dropped for a reason, and that no episode is left
 * over.
 */
function checkEnd(state: LedgerState, audit: Audit): void {
  const all = knownEpisodes(state, defaultPolicy);
  for (const [id, { fate, reason }] of all)
    audit.require(fate !== 'dropped' || reason !== undefined, `${id} was dropped without a reason`);
  for (const [id, body] of audit.receipts) {
    audit.require(all.get(id)?.bodyHash === body, `${id} was acknowledged and forgotten`);
  }
  const { unscored, assigned, pooled } = accountOf(state);
  audit.require(
    unscored + assigned + pooled === 0,
    `${unscored} unscored, ${assigned} assigned, ${pooled} pooled for ever`,
  );
  const groups = [...state.groups.values()];
  const open = groups.filter(({ fate }) => fate === undefined);
  audit.require(open.length === 0, `${open.length} groups are open for ever`);
  const isForgotten = ({ isDrawn, parts, step }: LedgerGroup): boolean =>
    isDrawn === true && [...(parts?.values() ?? [{ step }])].some((part) => part.step === undefined);
  audit.require(!groups.some(isForgotten), 'no step has covered a draw');
  for (const [share, { draws, nextDraw }] of state.schedules) {
    for (const [draw, { fate }] of draws) audit.require(fate === 'over', `draw ${share} ${draw} is ${fate} for ever`);
    audit.require(draws.size === nextDraw, `a draw of ${share} was skipped`);
  }
}

/** Checks that the policy has trained every acknowledged episode exactly once, or dropped it for a reason. */
function checkPolicy(
  state: LedgerState,
  { policy, weights }: { readonly policy: string; readonly weights: ToyWeights | undefined },
  audit: Audit,
): void {
  audit.require(weights !== undefined, 'the server never came back');
  const times = countTrained(weights, audit);
  const all = knownEpisodes(state, policy);
  for (const [id, { fate, reason }] of all) {
    const count = times.get(id) ?? 0;
    const text = `in the weights of ${policy}: ${id}`;
    audit.require(count === (fate === 'trained' ? 1 : 0), `a ${fate} episode is ${count} times ${text}`);
    audit.require(fate !== 'dropped' || reason !== undefined, `${id} was dropped by ${policy} without a reason`);
  }
  for (const id of times.keys()) audit.require(all.has(id), `${id} is in the weights and not in the ledger`);
  const { acknowledged, unscored, assigned, pooled } = accountOf(state, policy);
  audit.require(unscored + assigned + pooled === 0, `${assigned} assigned, ${pooled} pooled by ${policy} for ever`);
  const whole = accountOf(state).acknowledged;
  audit.require(acknowledged === whole, `${policy} knows ${acknowledged} of ${whole} acknowledged episodes`);
}

/** Counts what became of all episodes in a policy. */
function knownEpisodes(state: LedgerState, policy: string): ReadonlyMap<string, KnownEpisode> {
  const all = new Map<string, KnownEpisode>();
  for (const episode of state.finished.episodes()) {
    const { fate, reason } = episode.parts?.[policy] ?? episode;
    all.set(episode.episodeId, { fate, reason, bodyHash: episode.bodyHash });
  }
  for (const episode of state.episodes.values()) {
    const { state: fate, reason } = episodePart(episode, policy);
    all.set(episode.episodeId, { fate, reason, bodyHash: episode.end?.bodyHash });
  }
  return all;
}

type KnownEpisode = {
  readonly fate: string;
  readonly reason: string | undefined;
  readonly bodyHash: string | undefined;
};

/** Counts in how many steps each episode is, and checks that no optimizer step was applied twice or out of order. */
function countTrained(weights: ToyWeights | undefined, audit: Audit): ReadonlyMap<string, number> {
  const steps = new Map<string, Set<number>>();
  let next = { step: Infinity, index: 0 };
  for (let node = weights?.last; node !== undefined; node = node.before) {
    const isBefore = node.step < next.step || (node.step === next.step && node.index < next.index);
    audit.require(isBefore, `optimizer step ${node.step}.${node.index} was applied after ${next.step}.${next.index}`);
    next = node;
    for (const id of node.episodeIds) steps.set(id, (steps.get(id) ?? new Set()).add(node.step));
  }
  return new Map([...steps].map(([id, found]) => [id, found.size]));
}
