import { toErrorMessage } from '@agentjet/core';
import { WireError } from '@agentjet/swarm-wire';
import type { Notice } from '../log/log-entry.js';
import { failOrders } from './checkpoint-orders.js';
import { RecentFailures } from './recent-failures.js';
import { hasPolicies, type SwarmContext } from './swarm-context.js';
import type { RunDisk } from './swarm-options.js';
import { trainPolicy } from './train-policy.js';

/** What the server does if the model or trainer of a policy fails. */
export type KeepTrainingOptions = {
  /**
   * Opens the policy's model again, with the weights of `model.path`. Without it, the whole server is opened again by
   * its owner.
   */
  readonly reopen: (() => Promise<void>) | undefined;
  /** Whether the swarm is over. Later failures are only a consequence of its end. */
  readonly hasEnded: () => boolean;
  readonly onFailure: (error: unknown) => void;
  readonly runDisk?: RunDisk | undefined;
  readonly onNotice: Notice;
};

/**
 * Trains a policy. If there are several policies and the model of this policy fails, only this policy is opened again,
 * from its newest checkpoint, and the steps since then are repeated. Its calls wait meanwhile, and the other policies
 * continue. If it fails too often, it stops: its calls are refused with `policy_failed`, new groups have no part in it,
 * and its pooled groups wait until an operator starts it.
 */
export async function keepTraining(context: SwarmContext, options: KeepTrainingOptions): Promise<void> {
  const { host, policy, weights, health, gate, changes } = context;
  const { reopen, hasEnded, onFailure, onNotice } = options;
  const failures = new RecentFailures();
  for (let attempt: () => Promise<void> = () => trainPolicy(context); ; attempt = () => again(context, options)) {
    const error = await failureOf(attempt);
    if (hasEnded() || !(await waitForRoom(context, error, options))) return;
    if (!hasPolicies(context) || reopen === undefined) {
      weights.phase = 'failed';
      return onFailure(error);
    }
    void gate.hold('weights');
    health.downSinceMs ??= host.now();
    const problem = failures.note(error, host.now());
    weights.phase = problem === undefined ? 'recovering' : 'failed';
    changes.notify();
    if (problem === undefined) {
      onNotice(
        `${policy}: the model failed, and is opened again from its newest checkpoint: ${toErrorMessage(error)}`,
        'warn',
      );
      continue;
    }
    onNotice(refuse(context, problem), 'error');
    if (!(await started(context, hasEnded))) return;
    failures.forget();
  }
}

/**
 * Waits for room if the error says that the disk of the run folder is full. Ends are accepted meanwhile. Resolves with
 * false if the swarm ends before there is room.
 */
async function waitForRoom(
  context: SwarmContext,
  error: unknown,
  { runDisk, hasEnded, onNotice }: KeepTrainingOptions,
): Promise<boolean> {
  const problem = runDisk?.problemOf(error);
  if (runDisk === undefined || problem === undefined) return true;
  const { weights, health, gate, changes, settings } = context;
  void gate.hold('weights');
  weights.phase = 'failed';
  health.disk = problem;
  onNotice(problem, 'error');
  changes.notify();
  while (!hasEnded() && !runDisk.hasRoom()) await changes.next(settings.tickMs).catch(() => undefined);
  health.disk = undefined;
  return !hasEnded();
}

/** Stops the training of the only policy until an operator starts it. */
export function stopTraining(context: SwarmContext, problem: string): void {
  const { weights, health, changes } = context;
  weights.phase = 'failed';
  health.problem = problem;
  failOrders(context, problem);
  changes.notify();
}

/** Notes that the engine of the only policy is dead after its training has stopped. No further episodes are handed out. */
export function noteDeadEngine({ health, changes }: SwarmContext, error: unknown): void {
  health.broken ??= error;
  changes.notify();
}

/** Notes that the engine of a policy is dead. Returns false if there is no other policy. */
export function breakPolicy({ policies, changes }: SwarmContext, policy: string, error: unknown): boolean {
  const broken = policies.find((each) => each.policy === policy);
  if (policies.length === 1 || broken === undefined) return false;
  broken.health.broken ??= error;
  changes.notify();
  return true;
}

/** Trains until an error ends the training, and rejects with that error. */
async function again(context: SwarmContext, { reopen, hasEnded }: KeepTrainingOptions): Promise<void> {
  const { weights, health, gate } = context;
  weights.phase = 'recovering';
  health.problem = undefined;
  gate.refuse(undefined);
  await unlessEnded(context, reopen?.() ?? Promise.resolve(), hasEnded);
  if (hasEnded()) return;
  health.broken = undefined; // not earlier, because calls of the failed model may reject while another is opened
  await trainPolicy(context);
}

/** Waits for the promise unless the server closes first, because a worker may take an hour to start. */
async function unlessEnded(
  { changes, settings }: SwarmContext,
  opening: Promise<void>,
  hasEnded: () => boolean,
): Promise<void> {
  let isOpen = false;
  const done = opening.finally(() => {
    isOpen = true;
    changes.notify();
  });
  done.catch(() => undefined);
  while (!isOpen && !hasEnded()) await changes.next(settings.tickMs);
  if (isOpen) await done;
}

async function failureOf(attempt: () => Promise<void>): Promise<unknown> {
  try {
    await attempt();
    return new Error('The training of the policy ended by itself.');
  } catch (error) {
    return error;
  }
}

/** Stops the policy, and returns the message for the operator. */
function refuse(context: SwarmContext, problem: string): string {
  const { policy, health, gate } = context;
  health.problem = problem;
  failOrders(context, problem);
  const message = `The policy "${policy}" has stopped, and the others continue: ${problem}`;
  gate.refuse(new WireError('policy_failed', message, { retryAfterMs: 5000 }));
  return message;
}

/** Waits until an operator starts the policy again. Resolves with false if the swarm ended before that. */
async function started({ health, changes, settings }: SwarmContext, hasEnded: () => boolean): Promise<boolean> {
  health.isWanted = false;
  while (!health.isWanted) {
    if (hasEnded()) return false;
    await changes.next(settings.tickMs).catch(() => undefined); // rejects if the swarm has ended
  }
  return true;
}
