import { nextBatch } from '@agentjet/ledger';
import { rulesOf } from './rules-of.js';
import { lookAt } from './share-watch.js';
import { flyingOf, isDown, type SwarmContext } from './swarm-context.js';

const requestId = 'before the end of the process';

/** Lets running episodes end within the patience, makes the steps that are due, and saves a checkpoint. */
export async function finishWork(context: SwarmContext, patienceMs: number): Promise<void> {
  const { host, ledger, writer, changes, settings, intake, policies } = context;
  intake.isClosing = true;
  changes.notify();
  const untilMs = host.now() + patienceMs;
  while (ledger.numRunning > 0 && host.now() < untilMs) await changes.next(settings.tickMs);
  await writer.synced(); // so that the last ends have their receipts
  while (policies.some(isBusy)) await changes.next(settings.tickMs);
  for (const { wanted } of policies) wanted.set(requestId, { state: 'accepted' });
  changes.notify();
  const isSaving = (each: SwarmContext): boolean => {
    const { wanted, weights } = each;
    return wanted.get(requestId)?.state === 'accepted' && weights.phase !== 'failed' && !isDown(each);
  };
  while (policies.some(isSaving)) await changes.next(settings.tickMs);
}

/** Whether a step is being made, or a batch is full. */
function isBusy(context: SwarmContext): boolean {
  const { ledger, settings, weights } = context;
  if (weights.phase === 'failed' || isDown(context) || ledger.state.operation.isPaused) return false;
  if (weights.phase !== 'waiting') return true;
  const isOver = weights.version >= settings.maxSteps;
  return !isOver && nextBatch(flyingOf(context), rulesOf(context), lookAt(context)).kind === 'ready';
}

/** Whether a step of the policy is being made, or is due. */
export function isAtWork(context: SwarmContext): boolean {
  const { weights, settings } = context;
  const batch = nextBatch(flyingOf(context), rulesOf(context));
  return weights.phase !== 'waiting' || (batch.kind !== 'sampling' && weights.version < settings.maxSteps);
}
