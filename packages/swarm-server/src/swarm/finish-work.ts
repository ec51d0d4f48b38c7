import { nextBatch } from '@agentjet/ledger';
import { rulesOf } from './rules-of.js';
import { lookAt } from './share-watch.js';
import type { SwarmContext } from './swarm-context.js';

const requestId = 'before the end of the process';

/** Lets running episodes end within the patience, makes the steps that are due, and saves a checkpoint. */
export async function finishWork(context: SwarmContext, patienceMs: number): Promise<void> {
  const { host, ledger, changes, settings, intake, wanted } = context;
  intake.isClosing = true;
  changes.notify();
  const untilMs = host.now() + patienceMs;
  while (ledger.numRunning > 0 && host.now() < untilMs) await changes.next(settings.tickMs);
  while (isBusy(context)) await changes.next(settings.tickMs);
  wanted.set(requestId, 'accepted');
  changes.notify();
  while (wanted.get(requestId) === 'accepted' && context.weights.phase !== 'failed')
    await changes.next(settings.tickMs);
}

/** A step is being made, or a batch is full. */
function isBusy(context: SwarmContext): boolean {
  const { ledger, settings, weights } = context;
  if (weights.phase === 'failed' || ledger.state.operation.isPaused) return false;
  if (weights.phase !== 'waiting') return true;
  const isOver = weights.version >= settings.maxSteps;
  return !isOver && nextBatch(ledger, rulesOf(ledger.state, settings), lookAt(context)).kind === 'ready';
}
