import {
  forgetSteps,
  groupPart,
  isOf,
  named,
  nextBatch,
  planRetirement,
  toIdleGroup,
  untrainedOf,
  type Batch,
  type LedgerEpisode,
  type LedgerGroup,
  type ManifestRecord,
  type Outcome,
} from '@agentjet/ledger';
import { AgentJetError } from '@agentjet/core';
import { failOrders, openOrders, settleOrders } from './checkpoint-orders.js';
import { changedKeys, changesOf } from './config-changes.js';
import { evaluateIfDue, recordEvaluation } from './evaluate.js';
import { rulesOf } from './rules-of.js';
import { giveUpDeserted, isEmpty, isEnding, lookAt, ownSharesToDraw } from './share-watch.js';
import { appendSynced, flyingOf, hasPolicies, requireEngine, type SwarmContext } from './swarm-context.js';
import type { PlanContext } from './trainer-port.js';

/**
 * The life of a policy's weights: load, redo what was decided before, then step after step. Writing a manifest is the decision
 * to train; nothing of the next version leaves the server before all outcomes of its step are synced.
 */
export async function trainLoop(context: SwarmContext): Promise<void> {
  await openWeights(context);
  let heldSinceMs: number | undefined;
  while (context.weights.version < context.settings.maxSteps) {
    requireEngine(context);
    await saveIfAsked(context);
    await evaluateIfDue(context);
    noteDone(context);
    const mayStep = !context.ledger.state.operation.isPaused && !context.evaluation.isRunning;
    const batch = mayStep ? findBatch(context) : undefined;
    if (batch?.kind === 'ready') await makeStep(context, batch);
    else await nextChange(context);
    heldSinceMs = batch?.kind === 'held' ? (heldSinceMs ?? context.ledger.clock.read()) : undefined;
    if (batch?.kind === 'held' && heldSinceMs !== undefined) giveUpStragglers(context, batch, heldSinceMs);
  }
  await evaluateIfDue(context);
  if (!context.line.checkpoints.has(context.weights.version)) await saveCheckpoint(context, context.weights.version);
  for (;;) {
    requireEngine(context);
    await saveIfAsked(context);
    dropSurplus(context);
    await context.changes.next(context.settings.tickMs);
  }
}

/** Batches that waited for the step may be sampled now. */
function noteDone({ weights, changes }: SwarmContext): void {
  if (weights.doneStep === weights.version) return;
  weights.doneStep = weights.version;
  changes.notify();
}

/** Many ends of one moment are looked at once: when they are written. */
async function nextChange({ changes, settings, writer }: SwarmContext): Promise<void> {
  await changes.next(settings.tickMs);
  await writer.committed();
}

/** A checkpoint that an operator asked for, or that is the last one: nothing is left to train. */
async function saveIfAsked(context: SwarmContext): Promise<void> {
  const { weights } = context;
  const asked = openOrders(context);
  const isSaved = weights.version === 0 || (await isKept(context, asked.length > 0));
  if (!isSaved && (asked.length > 0 || isOver(context)))
    await saveCheckpoint(context, weights.version).catch((error: unknown) => {
      failOrders(context, error);
      throw error;
    });
  if (asked.length > 0) await settleOrders(context, asked);
}

/** Whether the present step has a checkpoint. An order is done only if its files are there, too. */
async function isKept({ weights, line, trainer }: SwarmContext, mustBeThere: boolean): Promise<boolean> {
  if (!line.checkpoints.has(weights.version)) return false;
  return !mustBeThere || (await trainer.checkpoints()).includes(weights.version);
}

/** The run drains or is through, and everything that was drawn is trained or dropped. */
function isOver(context: SwarmContext): boolean {
  return isEmpty(flyingOf(context)) && isEnding(context) && ownSharesToDraw(context).length === 0;
}

/** Its steps are all made: what other policies have trained and this one has not, it never will. */
function dropSurplus(context: SwarmContext): void {
  const { ledger, policy } = context;
  if (!hasPolicies(context)) return;
  const left = [...flyingOf(context).flight.groups.values()].filter(({ fate }) => fate === 'assigned');
  for (const { groupId } of left) ledger.append({ kind: 'part_dropped', groupId, policy, reason: 'surplus' });
}

/** Loads the newest whole checkpoint and makes the steps after it again, following their recorded outcomes. */
async function openWeights(context: SwarmContext): Promise<void> {
  const { line, policy, trainer, weights, gate } = context;
  const newest = await findCheckpoint(context);
  await trainer.load(newest);
  for (let step = newest + 1; step <= line.step; step++) {
    await optimizeStep(context, manifestOf(context, step));
    const evaluation = line.evaluations.get(step);
    if (evaluation !== undefined) await recordEvaluation(context, evaluation);
  }
  if (line.step > newest && !trainer.repeatsExactly) {
    await appendSynced(context, { kind: 'incarnation', ...named(policy), value: line.incarnation + 1 });
  }
  await trainer.publish(line.step);
  weights.version = line.step;
  weights.phase = 'waiting';
  context.health.downSinceMs = undefined;
  gate.release('weights');
  context.changes.notify();
}

/** The newest checkpoint that the ledger knows. Those of steps that training was sent back from are removed. */
async function findCheckpoint({ line, trainer }: SwarmContext): Promise<number> {
  const { step: newest, highestStep } = line;
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

function manifestOf({ line }: SwarmContext, step: number): ManifestRecord {
  const manifest = line.manifests.get(step);
  if (manifest !== undefined) return manifest;
  throw new AgentJetError(
    'redo_impossible',
    `Step ${step} has to be made again, and its manifest is gone. Begin a new run from a checkpoint that is whole.`,
  );
}

function findBatch(context: SwarmContext): Batch {
  const rules = rulesOf(context);
  const look = lookAt(context);
  giveUpDeserted(context);
  const flying = flyingOf(context);
  const { groups, trainable } = flying.flight;
  const isLast = trainable.size === groups.size && isEnding(context) && ownSharesToDraw(context).length === 0;
  return nextBatch(flying, rules, { ...look, isLast });
}

type ReadyBatch = Extract<Batch, { readonly kind: 'ready' }>;

async function makeStep(context: SwarmContext, { groups, idle = [], shares }: ReadyBatch): Promise<void> {
  const { host, ledger, policy, writer, trainer, weights, gate, settings, recovery, stragglers } = context;
  weights.phase = 'updating';
  await gate.hold('weights');
  const startedMs = host.now();
  await writer.committed(); // the trainer reads ends from the store
  // A request may have dropped one meanwhile.
  const ready = groups.filter((group) => groupPart(group, policy).fate === undefined);
  const isStep = ready.length + idle.length > 0;
  if (isStep) {
    const plan = trainer.plan(ledger.toManifestGroups(ready), planContext(context, ready, idle));
    const configRevision = ledger.state.configs.at(-1)?.revision ?? 0;
    const more = { policy, configRevision, idle, ...(shares !== undefined && { shares }) };
    const manifest = ledger.assign(ready, { ...plan, ...more });
    await writer.synced();
    await optimizeStep(context, manifest);
    await trainer.publish(manifest.step);
    weights.version = manifest.step;
    stragglers.noteTrained(ready.length);
  }
  weights.phase = 'waiting';
  gate.release('weights');
  context.changes.notify();
  const { save_freq: saveFreq = settings.saveFreq } = changesOf(context).trainer_common;
  recovery.noteStep((host.now() - startedMs) / 1000);
  const isDue = (saveFreq > 0 && weights.version % saveFreq === 0) || recovery.isDue;
  if (isStep && isDue) await saveCheckpoint(context, weights.version);
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

/** Makes the optimizer steps of a manifest; those that were made before follow what was recorded of them. */
async function optimizeStep(context: SwarmContext, manifest: ManifestRecord): Promise<void> {
  const { ledger, policy, line, writer, trainer } = context;
  for (let index = 0; index < manifest.optimizerSteps.length; index++) {
    const known = line.outcomes.get(manifest.step)?.[index];
    const outcome: Outcome = await trainer.optimize(manifest, index, known);
    if (known === undefined) ledger.conclude(manifest.step, index, { ...outcome, policy });
    await writer.synced();
  }
}

async function saveCheckpoint(context: SwarmContext, step: number): Promise<void> {
  const { host, policy, trainer, settings, weights, recovery } = context;
  weights.phase = 'saving';
  const startedMs = host.now();
  await trainer.save(step);
  recovery.noteSaved((host.now() - startedMs) / 1000);
  await appendSynced(context, { kind: 'checkpoint', ...named(policy), step });
  const whole = [...(await trainer.checkpoints())].sort((a, b) => b - a);
  const kept = whole.slice(0, Math.max(2, settings.keptCheckpoints));
  for (const old of whole.slice(kept.length)) await trainer.removeCheckpoint(old);
  context.oldestStep = kept.length < 2 ? 0 : (kept.at(-1) ?? 0); // the newest may turn out not to be whole
  await retireFiles(context);
  weights.phase = 'waiting';
  context.changes.notify();
}

/** Removes files that nothing needs: not before what replaces their records is synced. */
async function retireFiles({ store, ledger, writer, policies }: SwarmContext): Promise<void> {
  const oldest = new Map(policies.map(({ policy, oldestStep }) => [policy, oldestStep]));
  const plan = planRetirement(store, ledger.state, (policy) => oldest.get(policy) ?? 0);
  if (plan === undefined) return;
  if (plan.finished.length > 0) ledger.append(...plan.finished);
  writer.carry(plan.carried);
  await writer.synced();
  await store.remove(plan.files);
  forgetSteps(ledger.state, plan.steps);
}

function giveUpStragglers(context: SwarmContext, { by }: Extract<Batch, { kind: 'held' }>, sinceMs: number): void {
  const { ledger, settings, stragglers } = context;
  const patience = settings.stragglerPatienceMs;
  if (patience === null || ledger.clock.read() - sinceMs <= patience) return;
  const late = by.filter(({ fate }) => fate === undefined);
  for (const { groupId } of late) ledger.dropGroup(groupId, 'stale');
  stragglers.noteGiven(late.length);
}
