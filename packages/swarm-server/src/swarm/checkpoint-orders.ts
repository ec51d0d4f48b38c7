import { toErrorMessage } from '@agentjet/core';
import type { OperationAnswer } from '@agentjet/swarm-wire';
import type { Asked } from './operator-routes.js';
import { appendSynced, type SwarmContext } from './swarm-context.js';

/**
 * Orders to save a checkpoint. Open orders are kept in memory. The audit has the id of each order, and a record follows
 * when it is done. If an order is neither in memory nor recorded as done, it was lost when the server was opened again.
 */

/** The state of an order in one policy. */
export type WantedCheckpoint = {
  readonly state: 'accepted' | 'done' | 'failed';
  /** The reason of `failed`. */
  readonly message?: string;
};

const what = 'checkpoint' as const;

/**
 * Orders a checkpoint of each policy. A policy that has stopped fails its order, because it saves nothing until it is
 * started.
 */
export async function orderCheckpoint(context: SwarmContext, requestId: string, asked: Asked): Promise<void> {
  const { policies, changes } = context;
  for (const { wanted, weights, health } of policies) {
    const hasFailed = weights.phase === 'failed';
    wanted.set(requestId, hasFailed ? toFailed(health.problem ?? 'The model had just failed.') : { state: 'accepted' });
  }
  changes.notify();
  await appendSynced(context, { kind: 'audit', what, ...asked, detail: { operation_id: requestId } });
}

/** Returns the state of an order, or undefined if the order is unknown. */
export function findCheckpointOrder(
  context: SwarmContext,
  requestId: string,
): Omit<OperationAnswer, 'operation_id'> | undefined {
  const found = context.policies.flatMap(({ wanted }) => wanted.get(requestId) ?? []);
  if (found.length === 0)
    return isOrdered(context, requestId) ? { operation: what, ...toFailed(openedAgain) } : undefined;
  const open = found.find(({ state }) => state === 'failed') ?? found.find(({ state }) => state === 'accepted');
  return { operation: what, ...(open ?? { state: 'done' }) };
}

const openedAgain = 'The server was opened again before the order was done.';

const isOrdered = ({ ledger }: SwarmContext, requestId: string): boolean =>
  ledger.state.audit.some((entry) => entry.what === what && entry.detail['operation_id'] === requestId);

/** Ids of the orders that this policy has to carry out. */
export const openOrders = ({ wanted }: SwarmContext): readonly string[] =>
  [...wanted].filter(([, { state }]) => state === 'accepted').map(([id]) => id);

/**
 * Notes that this policy has carried out the orders. An order is recorded as done when all policies have carried it
 * out.
 */
export async function settleOrders(context: SwarmContext, ids: readonly string[]): Promise<void> {
  const { wanted, policies, ledger, changes } = context;
  for (const id of ids) wanted.set(id, { state: 'done' });
  const isDone = (id: string): boolean => policies.every((each) => each.wanted.get(id)?.state === 'done');
  const done = ids.filter((id) => isDone(id) && isOrdered(context, id));
  const { isPaused, isDraining, isStopped } = ledger.state.operation;
  const now = { isPaused, isDraining, isStopped };
  const records = done.map((requestId) => ({ kind: 'operation' as const, requestId, order: what, ...now }) as const);
  if (records.length > 0) await appendSynced(context, ...records);
  changes.notify();
}

/** Fails the open orders of the policy. They are not carried out later. The operators who gave them get an error. */
export function failOrders(context: SwarmContext, error: unknown): void {
  for (const id of openOrders(context)) context.wanted.set(id, toFailed(toErrorMessage(error)));
}

const toFailed = (reason: string) => ({
  state: 'failed' as const,
  message: `No checkpoint was saved. ${reason}${/[.!?]$/.test(reason) ? '' : '.'} Order it again.`,
});
