import {
  nextBatch,
  planRetirement,
  type Batch,
  type LedgerGroup,
  type ManifestRecord,
  type Outcome,
} from '@agentjet/ledger';
import { AgentJetError } from '@agentjet/core';
import { changedKeys, changesOf } from './config-changes.js';
import { evaluateIfDue, recordEvaluation } from './evaluate.js';
import { rulesOf } from './rules-of.js';
import { giveUpIdle, isEnding, lookAt, sharesToDraw } from './share-watch.js';
import { appendSynced, type SwarmContext } from './swarm-context.js';
import type { PlanContext } from './trainer-port.js';

/**
 * The life of the weights: load, redo what was decided before, then step after step. Writing a manifest is the decision
 * to train; nothing of the next version leaves the server before all outcomes of its step are synced.
 */
export async function trainLoop(context: SwarmContext): Promise<void> {
  await openWeights(context);
  let heldSinceMs: number | undefined;
  while (context.weights.version < context.settings.maxSteps) {
    await saveIfAsked(context);
    await evaluateIfDue(context);
    const batch = context.ledger.state.operation.isPaused ? undefined : findBatch(context);
    if (batch?.kind === 'ready') await makeStep(context, batch);
    else await context.changes.next(context.settings.tickMs);
    heldSinceMs = batch?.kind === 'held' ? (heldSinceMs ?? context.ledger.clock.read()) : undefined;
    if (batch?.kind === 'held' && heldSinceMs !== undefined) giveUpStragglers(context, batch, heldSinceMs);
  }
  await evaluateIfDue(context);
  if (!context.ledger.state.checkpoints.has(context.weights.version))
    await saveCheckpoint(context, context.weights.version);
  for (;;) {
    await saveIfAsked(context);
    await context.changes.next(context.settings.tickMs);
  }
}

/** A checkpoint that an operator asked for, or that is the last one: nothing is left to train. */
async function saveIfAsked(context: SwarmContext): Promise<void> {
  const { wanted, weights, ledger } = context;
  const asked = [...wanted].filter(([, state]) => state === 'accepted').map(([id]) => id);
  const isSaved = weights.version === 0 || ledger.state.checkpoints.has(weights.version);
  if (!isSaved && (asked.length > 0 || isOver(context))) await saveCheckpoint(context, weights.version);
  for (const id of asked) wanted.set(id, 'done');
  if (asked.length > 0) context.changes.notify();
}

/** Every task was drawn, and everything that was drawn is trained or dropped. */
function isOver(context: SwarmContext): boolean {
  const isEmpty = context.ledger.flight.groups.size === 0;
  return isEmpty && isEnding(context) && sharesToDraw(context).length === 0;
}

/** Loads the newest whole checkpoint and makes the steps after it again, following their recorded outcomes. */
async function openWeights(context: SwarmContext): Promise<void> {
  const { ledger, trainer, weights, gate } = context;
  const { state } = ledger;
  const newest = await findCheckpoint(context);
  await trainer.load(newest);
  for (let step = newest + 1; step <= state.step; step++) {
    await optimizeStep(context, manifestOf(context, step));
    const evaluation = state.evaluations.get(step);
    if (evaluation !== undefined) await recordEvaluation(context, step, evaluation.groupIds);
  }
  if (state.step > newest && !trainer.repeatsExactly) {
    await appendSynced(context, { kind: 'incarnation', value: state.incarnation + 1 });
  }
  await trainer.publish(state.step);
  weights.version = state.step;
  weights.phase = 'waiting';
  gate.release('weights');
  context.changes.notify();
}

/** The newest checkpoint that the ledger knows. Those of steps that training was sent back from are removed. */
async function findCheckpoint({ ledger, trainer }: SwarmContext): Promise<number> {
  const { step: newest, highestStep } = ledger.state;
  const whole = await trainer.checkpoints();
  const unknown = whole.find((step) => step > highestStep);
  if (unknown !== undefined) {
    throw new AgentJetError(
      'unknown_checkpoint',
      `There is a checkpoint of step ${unknown}, and the ledger knows ${highestStep} steps. Restore the ledger that belongs to it, or begin a new run from the checkpoint.`,
    );
  }
  for (const step of whole) if (step > newest) await trainer.removeCheckpoint(step);
  return Math.max(0, ...whole.filter((step) => step <= newest));
}

function manifestOf({ ledger }: SwarmContext, step: number): ManifestRecord {
  const manifest = ledger.state.manifests.get(step);
  if (manifest !== undefined) return manifest;
  throw new AgentJetError(
    'redo_impossible',
    `Step ${step} has to be made again, and its manifest is gone. Begin a new run from a checkpoint that is whole.`,
  );
}

function findBatch(context: SwarmContext): Batch {
  const { ledger, settings } = context;
  const rules = rulesOf(ledger.state, settings);
  const look = lookAt(context);
  if (rules.isElastic === true && look.idle !== undefined) giveUpIdle(context, look.idle);
  const { groups, trainable } = ledger.flight;
  const isLast = trainable.size === groups.size && isEnding(context) && sharesToDraw(context).length === 0;
  return nextBatch(ledger, rules, { ...look, isLast });
}

type ReadyBatch = Extract<Batch, { readonly kind: 'ready' }>;

async function makeStep(context: SwarmContext, { groups, shares }: ReadyBatch): Promise<void> {
  const { host, ledger, writer, trainer, weights, gate, settings } = context;
  weights.phase = 'updating';
  await gate.hold('weights');
  const startedMs = host.now();
  await writer.committed(); // the trainer reads ends from the store
  const ready = groups.filter(({ fate }) => fate === undefined); // a request may have dropped one meanwhile
  if (ready.length > 0) {
    const plan = trainer.plan(ledger.toManifestGroups(ready), planContext(context, ready));
    const configRevision = ledger.state.configs.at(-1)?.revision ?? 0;
    const manifest = ledger.assign(ready, { ...plan, configRevision, ...(shares !== undefined && { shares }) });
    await writer.synced();
    await optimizeStep(context, manifest);
    await trainer.publish(manifest.step);
    weights.version = manifest.step;
  }
  weights.phase = 'waiting';
  gate.release('weights');
  context.changes.notify();
  const { save_freq: saveFreq = settings.saveFreq } = changesOf(ledger.state).trainer_common;
  context.sinceSavedMs += host.now() - startedMs;
  const isDue =
    (saveFreq > 0 && weights.version % saveFreq === 0) ||
    context.sinceSavedMs > (settings.recoveryBudgetMs ?? Infinity);
  if (ready.length > 0 && isDue) await saveCheckpoint(context, weights.version);
}

function planContext({ ledger }: SwarmContext, groups: readonly LedgerGroup[]): PlanContext {
  const { state } = ledger;
  const members = groups.flatMap(({ groupId }) => ledger.membersOf(groupId));
  return {
    isOnPolicy: members.every(({ calls }) => calls.every(({ incarnation }) => incarnation === state.incarnation)),
    changes: changedKeys(state),
  };
}

/** Makes the optimizer steps of a manifest; those that were made before follow what was recorded of them. */
async function optimizeStep({ ledger, writer, trainer }: SwarmContext, manifest: ManifestRecord): Promise<void> {
  for (let index = 0; index < manifest.optimizerSteps.length; index++) {
    const known = ledger.state.outcomes.get(manifest.step)?.[index];
    const outcome: Outcome = await trainer.optimize(manifest, index, known);
    if (known === undefined) ledger.conclude(manifest.step, index, outcome);
    await writer.synced();
  }
}

async function saveCheckpoint(context: SwarmContext, step: number): Promise<void> {
  const { trainer, settings, weights } = context;
  weights.phase = 'saving';
  await trainer.save(step);
  context.sinceSavedMs = 0;
  await appendSynced(context, { kind: 'checkpoint', step });
  const whole = [...(await trainer.checkpoints())].sort((a, b) => b - a);
  const kept = whole.slice(0, Math.max(2, settings.keptCheckpoints));
  for (const old of whole.slice(kept.length)) await trainer.removeCheckpoint(old);
  await retireFiles(context, kept.length < 2 ? 0 : (kept.at(-1) ?? 0)); // the newest may turn out not to be whole
  weights.phase = 'waiting';
  context.changes.notify();
}

/** Removes files that nothing needs: not before what replaces their records is synced. */
async function retireFiles({ store, ledger, writer }: SwarmContext, oldestCheckpoint: number): Promise<void> {
  const plan = planRetirement(store, ledger.state, oldestCheckpoint);
  if (plan === undefined) return;
  if (plan.finished.length > 0) ledger.append(...plan.finished);
  writer.carry(plan.carried);
  await writer.synced();
  await store.remove(plan.files);
}

function giveUpStragglers(context: SwarmContext, { by }: Extract<Batch, { kind: 'held' }>, sinceMs: number): void {
  const { ledger, settings } = context;
  const patience = settings.stragglerPatienceMs;
  if (patience === null || ledger.clock.read() - sinceMs <= patience) return;
  for (const { groupId, fate } of by) if (fate === undefined) ledger.dropGroup(groupId, 'stale');
}
