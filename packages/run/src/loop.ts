import { AgentJetError } from '@agentjet/core';
import { groupPart, named, type LedgerRecord, type ManifestRecord, type PolicyLine } from '@agentjet/ledger';
import type { Batch, Run } from './parts.js';

export type { Batch, Driver, Gate, Journal, MadeStep, Run, StepPlan, LoopTrainer, WeightsState } from './parts.js';

/**
 * The training loop of every run: an ordinary run, imitation, and each policy of a swarm server.
 *
 * load -> redo -> ( evaluate -> save -> decide -> step -> record -> publish ) ...
 *
 * A driver chooses the batches, and the ledger decides which episodes count. The manifest of a step is the decision to
 * train. It is written to disk before the first optimizer step, and the outcome of each optimizer step is written
 * before the new weights are used. So a process that restarts after a crash repeats its steps with the same episodes
 * and the same outcomes.
 */
export async function runLoop(run: Run): Promise<void> {
  const { driver, line } = run;
  let step = await openWeights(run);
  await publish(run, step);
  let samplingSinceMs = run.now();
  for (;;) {
    driver.check();
    await evaluateAndSave(run, step);
    if (noteDone(run, step)) samplingSinceMs = run.now();
    if (driver.isOver(step)) return;
    const batch = await driver.decide();
    if (batch !== undefined) await makeStep(run, batch, (run.now() - samplingSinceMs) / 1000);
    step = line.step;
  }
}

/** Loads the newest whole checkpoint and repeats the later steps as they were decided. Returns the last step. */
async function openWeights(run: Run): Promise<number> {
  const { driver, line, policy, trainer } = run;
  let step = await driver.load();
  if (step < line.step && !trainer.repeatsExactly)
    await appendSynced(run, { kind: 'incarnation', ...named(policy), value: line.incarnation + 1 });
  while (step < line.step && !driver.isOver(step)) {
    await trainStep(run, manifestOf(line, step + 1), 0);
    step++;
    if (step < line.step) await evaluateAndSave(run, step);
  }
  return step;
}

function manifestOf({ manifests }: PolicyLine, step: number): ManifestRecord {
  const manifest = manifests.get(step);
  if (manifest !== undefined) return manifest;
  throw new AgentJetError(
    'redo_impossible',
    `The run must repeat step ${step}, but the manifest of that step is missing. Begin a new run from a complete checkpoint.`,
  );
}

/** Evaluates and saves. The evaluation comes first, because `keep_best` compares checkpoints by their evaluations. */
async function evaluateAndSave(run: Run, step: number): Promise<void> {
  await run.driver.evaluate(step);
  await saveIfDue(run, step);
}

/** Records that the evaluation and the checkpoint of the step are done. Returns false if this was recorded before. */
function noteDone({ driver, weights }: Run, step: number): boolean {
  if (weights.doneStep === step) return false;
  weights.doneStep = step;
  driver.onDone?.(step);
  return true;
}

/**
 * Decides, trains, records and publishes one step. Does nothing if all groups have been dropped since they were chosen.
 */
async function makeStep(run: Run, { groups, idle = [], shares }: Batch, secondsSampling: number): Promise<void> {
  const { driver, gate, journal, ledger, line, policy } = run;
  enter(run, 'updating');
  await gate?.hold('weights');
  await journal.committed(); // the trainer may read the episodes from the store
  const ready = groups.filter((group) => groupPart(group, policy).fate === undefined);
  const isStep = ready.length + idle.length > 0 || groups.length === 0;
  if (isStep) {
    const plan = driver.plan(ready, idle);
    const configRevision = ledger.state.configs.at(-1)?.revision ?? 0;
    const more = { policy, configRevision, idle, ...(shares !== undefined && { shares }) };
    const manifest = ledger.assign(ready, { ...plan, ...more });
    await journal.synced();
    await trainStep(run, manifest, secondsSampling);
  }
  await publish(run, line.step);
  if (isStep) driver.onStep?.(ready);
}

/**
 * Makes the optimizer steps of a manifest and records the step. If an optimizer step was made before a crash, its
 * recorded outcome is applied.
 */
async function trainStep(run: Run, manifest: ManifestRecord, secondsSampling: number): Promise<void> {
  const { journal, ledger, line, policy, recovery, trainer } = run;
  const { step } = manifest;
  const startedMs = run.now();
  const known = [...(line.outcomes.get(step) ?? [])];
  for (let index = 0; index < manifest.optimizerSteps.length; index++) {
    const outcome = await trainer.optimize(manifest, index, known[index]);
    if (known[index] === undefined) ledger.conclude(step, index, { ...outcome, policy });
    await journal.synced();
  }
  const isRedo = known[manifest.optimizerSteps.length - 1] !== undefined;
  await trainer.record?.(manifest, { secondsSampling, isRedo });
  recovery.noteStep((run.now() - startedMs) / 1000);
}

/** Lets the weights after `step` answer model calls from now on. */
async function publish(run: Run, step: number): Promise<void> {
  const { gate, trainer, weights } = run;
  await trainer.publish(step);
  weights.version = step;
  enter(run, 'waiting');
  gate?.release('weights');
}

/** Saves the weights after `step`, if their checkpoint is due and does not exist yet. */
export async function saveIfDue(run: Run, step: number): Promise<void> {
  const { driver, recovery } = run;
  const every = driver.saveEvery();
  const needed = driver.needsCheckpoint(step);
  const isDue = needed !== undefined || recovery.isDue || (every > 0 && step % every === 0);
  if (step > 0 && isDue && !(await isSaved(run, step, needed === 'on_disk'))) await saveCheckpoint(run, step);
  await driver.onSaved?.(step);
}

async function isSaved({ line, trainer }: Run, step: number, mustBeWhole: boolean): Promise<boolean> {
  if (!line.checkpoints.has(step)) return false;
  return !mustBeWhole || (await trainer.checkpoints()).includes(step);
}

/** Saves the current weights, which must be those after `step`. */
export async function saveCheckpoint(run: Run, step: number): Promise<void> {
  const { driver, policy, recovery, trainer, weights } = run;
  const { phase } = weights;
  enter(run, 'saving');
  const startedMs = run.now();
  await trainer.save(step);
  recovery.noteSaved((run.now() - startedMs) / 1000);
  await appendSynced(run, { kind: 'checkpoint', ...named(policy), step });
  await driver.retire();
  enter(run, phase);
}

function enter({ weights, driver }: Run, phase: Run['weights']['phase']): void {
  weights.phase = phase;
  driver.onChange?.();
}

async function appendSynced({ ledger, journal }: Run, record: LedgerRecord): Promise<void> {
  ledger.append(record);
  await journal.synced();
}
