import {
  isOf,
  nextBatch,
  toIdleGroup,
  untrainedOf,
  type FormedBatch,
  type LedgerEpisode,
  type LedgerGroup,
  type StoreWriter,
} from '@agentjet/ledger';
import { AgentJetError, WorkflowError } from '@agentjet/core';
import { runLoop, saveIfDue, type Driver, type Journal, type Run } from '@agentjet/run/loop';
import { failOrders, openOrders, settleOrders } from './checkpoint-orders.js';
import { changedKeys, changesOf } from './config-changes.js';
import { evaluateIfDue, recordEvaluation } from './evaluate.js';
import { rulesOf } from './rules-of.js';
import { giveUpDeserted, isEmpty, isEnding, lookAt, ownSharesToDraw } from './share-watch.js';
import { flyingOf, hasPolicies, requireEngine, roomOfStep, type SwarmContext } from './swarm-context.js';
import type { PlanContext } from './trainer-port.js';

/**
 * Trains a policy of a swarm with the same loop as an ordinary run. Its batches come from the pool of groups that
 * clients fill. After the last step it waits for orders to save a checkpoint.
 */
export async function trainPolicy(context: SwarmContext): Promise<void> {
  const { ledger, policy, line, trainer, weights, recovery, gate, writer, host } = context;
  const driver = createPoolDriver(context);
  const journal = createStepJournal(writer);
  const run: Run = { ledger, policy, line, trainer, weights, recovery, gate, journal, driver, now: host.now };
  try {
    await runLoop(run);
    for (;;) {
      requireEngine(context);
      await saveIfDue(run, weights.version);
      dropSurplus(context);
      await context.changes.next(context.settings.tickMs);
    }
  } catch (error) {
    if (weights.phase === 'saving') failOrders(context, error);
    throw error;
  }
}

/** Creates a journal that does not gather, because no client sends records while the loop waits for those of a step. */
function createStepJournal(writer: StoreWriter): Journal {
  const hurried =
    (wait: () => Promise<void>): (() => Promise<void>) =>
    () => {
      writer.hurry();
      return wait();
    };
  return { committed: hurried(() => writer.committed()), synced: hurried(() => writer.synced()) };
}

function createPoolDriver(context: SwarmContext): Driver {
  const { ledger, line, policy, settings, stragglers, trainer, weights, changes, health, progress } = context;
  let asked: readonly string[] = [];
  let heldSinceMs: number | undefined;
  let failedBefore = 0;
  const redone = new Set<number>();
  return {
    load: async () => {
      const newest = await findCheckpoint(context);
      await trainer.load(newest);
      for (let step = newest + 1; step <= line.step; step++) redone.add(step);
      failedBefore = numFailed(context);
      return newest;
    },
    check: () => {
      requireEngine(context);
      trainer.check?.();
      requireTrainable(context, failedBefore);
    },
    decide: async () => {
      const isHeld = ledger.state.operation.isPaused || context.evaluation.isRunning;
      const mayStep = !isHeld && context.store.hasRoomFor(roomOfStep);
      const batch = mayStep ? findBatch(context) : undefined;
      if (batch?.kind !== 'ready') await nextChange(context);
      heldSinceMs = batch?.kind === 'held' ? (heldSinceMs ?? ledger.clock.read()) : undefined;
      if (batch?.kind === 'held' && heldSinceMs !== undefined) giveUpStragglers(context, batch, heldSinceMs);
      return batch?.kind === 'ready' ? batch : undefined;
    },
    plan: (groups, idle) => trainer.plan(ledger.toManifestGroups(groups), planContext(context, groups, idle)),
    evaluate: async (step) => {
      const known = redone.delete(step) ? line.evaluations.get(step) : undefined;
      if (known !== undefined) await recordEvaluation(context, known);
      if (step === line.step) await evaluateIfDue(context);
    },
    saveEvery: () => changesOf(context).trainer_common.save_freq ?? settings.saveFreq,
    needsCheckpoint: (step) => {
      asked = step === line.step ? openOrders(context) : [];
      if (asked.length > 0) return 'on_disk';
      return step === line.step && (step >= settings.maxSteps || isOver(context)) ? 'recorded' : undefined;
    },
    onSaved: async () => {
      if (asked.length > 0) await settleOrders(context, asked);
    },
    retire: () => retire(context),
    isOver: (step) => step >= Math.max(settings.maxSteps, line.step),
    onDone: () => changes.notify(),
    onStep: (groups) => {
      stragglers.noteTrained(groups.length);
      failedBefore = numFailed(context);
    },
    onChange: () => {
      const made = progress.note(weights);
      if (made !== undefined) context.meter?.onStep(policy, made);
      if (weights.phase === 'waiting') health.downSinceMs = undefined;
      changes.notify();
    },
  };
}

/** Returns the number of episodes whose agents failed. */
function numFailed(context: SwarmContext): number {
  const { ledger, policy } = context;
  const { droppedByReason } = hasPolicies(context) ? ledger.accountOf(policy) : ledger.account;
  return droppedByReason.failed ?? 0;
}

/**
 * Throws WorkflowError `nothing_trained` if no group can be trained and the failed episodes would fill
 * `max_empty_steps` batches.
 */
function requireTrainable(context: SwarmContext, failedBefore: number): void {
  const { maxEmptySteps, numPlaces } = context.settings;
  if (maxEmptySteps === undefined || flyingOf(context).flight.trainable.size > 0) return;
  const found = numFailed(context) - failedBefore;
  if (found < maxEmptySteps * rulesOf(context).batchSize * numPlaces) return;
  throw new WorkflowError(
    'nothing_trained',
    `${found} episodes since step ${context.weights.version} failed, and no group can be trained. "ajet swarm episodes" shows their errors. Repair the cause and continue with "ajet swarm start" (without a server, with --resume), or set trainer_common.max_empty_steps to null to continue regardless.`,
  );
}

/** Waits for the next change and until it is written. Ends that arrive at the same time are then handled together. */
async function nextChange({ changes, settings, writer }: SwarmContext): Promise<void> {
  await changes.next(settings.tickMs);
  await writer.committed();
}

/** Whether the run is over: it drains or has no tasks left, and each of its draws is trained or dropped. */
function isOver(context: SwarmContext): boolean {
  return isEmpty(flyingOf(context)) && isEnding(context) && ownSharesToDraw(context).length === 0;
}

/** Drops the groups that this policy will not train. Called when all its steps are made. */
function dropSurplus(context: SwarmContext): void {
  const { ledger, policy } = context;
  if (!hasPolicies(context)) return;
  const left = [...flyingOf(context).flight.groups.values()].filter(({ fate }) => fate === 'assigned');
  for (const { groupId } of left) ledger.append({ kind: 'part_dropped', groupId, policy, reason: 'surplus' });
}

/** Finds the newest checkpoint whose step is in the ledger, and removes checkpoints of void steps. */
async function findCheckpoint({ line, trainer }: SwarmContext): Promise<number> {
  const { step: newest, highestStep } = line;
  const whole = await trainer.checkpoints();
  const unknown = whole.find((step) => step > highestStep);
  if (unknown !== undefined) {
    throw new AgentJetError(
      'unknown_checkpoint',
      `There is a checkpoint of step ${unknown}, but the ledger has only ${highestStep} steps. Restore the ledger that belongs to it, or begin a new run from the checkpoint.`,
    );
  }
  for (const step of whole) if (step > newest) await trainer.removeCheckpoint(step);
  return Math.max(0, ...whole.filter((step) => step <= newest));
}

function findBatch(context: SwarmContext): FormedBatch {
  const rules = rulesOf(context);
  const look = lookAt(context);
  giveUpDeserted(context);
  const flying = flyingOf(context);
  const { groups, trainable } = flying.flight;
  const isLast = trainable.size === groups.size && isEnding(context) && ownSharesToDraw(context).length === 0;
  return nextBatch(flying, rules, { ...look, isLast });
}

function planContext(context: SwarmContext, groups: readonly LedgerGroup[], idle: readonly LedgerGroup[]): PlanContext {
  const { ledger, policy, line, lengths } = context;
  const members = groups.flatMap(({ groupId }) => ledger.membersOf(groupId));
  const calls = members.flatMap((episode) => episode.calls.filter((call) => isOf(call, policy)));
  return {
    isOnPolicy: calls.every(({ incarnation }) => incarnation === line.incarnation),
    lost: lengths.take(policy, groups),
    failed: Object.fromEntries(
      [...groups, ...idle].flatMap((group) => toFailed(group.groupId, untrainedOf(ledger.state, group))),
    ),
    changes: changedKeys(context),
    idle: idle.map(toIdleGroup),
  };
}

const toFailed = (
  groupId: string,
  failed: readonly Readonly<LedgerEpisode>[],
): readonly (readonly [string, string[]])[] =>
  failed.length === 0 ? [] : [[groupId, failed.map(({ episodeId }) => episodeId)]];

/** Removes old checkpoints, and the files of the ledger that no kept checkpoint needs. */
async function retire(context: SwarmContext): Promise<void> {
  const { trainer, settings } = context;
  const whole = [...(await trainer.checkpoints())].sort((a, b) => b - a);
  const kept = whole.slice(0, Math.max(2, settings.keptCheckpoints));
  for (const old of whole.slice(kept.length)) await trainer.removeCheckpoint(old);
  // Two checkpoints are kept, because the newest may turn out to be incomplete.
  context.oldestStep = kept.length < 2 ? 0 : (kept.at(-1) ?? 0);
  const oldest = new Map(context.policies.map(({ policy, oldestStep }) => [policy, oldestStep]));
  await context.retirement.retire((policy) => oldest.get(policy) ?? 0);
}

function giveUpStragglers(
  context: SwarmContext,
  { by }: Extract<FormedBatch, { kind: 'held' }>,
  sinceMs: number,
): void {
  const { ledger, settings, stragglers } = context;
  const patience = settings.stragglerPatienceMs;
  if (patience === null || ledger.clock.read() - sinceMs <= patience) return;
  const late = by.filter(({ fate }) => fate === undefined);
  for (const { groupId } of late) ledger.dropGroup(groupId, 'stale');
  stragglers.noteGiven(late.length);
}
