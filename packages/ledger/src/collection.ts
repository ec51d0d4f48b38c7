import { sampleCollections } from '@agentjet/core';
import type { Ledger } from './ledger.js';
import { membersOf } from './places.js';
import { shareOf, type GroupsByShare } from './shares.js';
import type { LedgerEpisode, PolicyLine } from './state.js';

/**
 * The rules that decide when a step has enough groups. The names in brackets are those of the original AgentJet:
 * - `enough_tasks`: the number of groups in a batch (finish_enough_tasks)
 * - `enough_episodes`: as many episodes as a batch of complete groups has, so further groups replace places that were given up
 *   (finish_enough_episodes)
 * - `enough_informative_tasks`: the number of groups with two different rewards; other groups are trained too but do not count
 *   (finish_enough_non_dummy_tasks)
 * - `any_client_asks`, `all_clients_ask`: a client, or every client that is alive, asks for the step; everything sampled until then
 *   is trained (any_client_agree_sync_weight, all_client_agree_sync_weight)
 */
export const collections = sampleCollections;

export type Collection = (typeof collections)[number];

/** Facts about the present moment that are not in the ledger. */
export type Look = {
  /** If true, no more groups will come, and a smaller batch is trained too. */
  readonly isLast?: boolean;
  /** Shares for which no client works now. */
  readonly idle?: ReadonlySet<string>;
  /** Whether the clients ask for the step. */
  readonly isAgreed?: boolean;
  /**
   * The step that the loop has finished, including its evaluation and its checkpoint. Default: the newest step that was
   * decided.
   */
  readonly doneStep?: number;
  /** The last step of the run. Default: there is none. */
  readonly lastStep?: number;
};

/** The part of a ledger that the batches of one policy need. */
export type Flying = Pick<Ledger, 'state' | 'flight'> & {
  readonly policy: string;
  /** The progress of the policy's weights. */
  readonly line: PolicyLine;
};

/** While a batch waits for groups that count, it grows to at most its size times this number. */
const mostGrowth = 4;

export const isAgreement = ({ collection }: { readonly collection?: Collection }): boolean =>
  collection === 'any_client_asks' || collection === 'all_clients_ask';

/** Returns the episodes whose rewards are compared. An episode without a model call is in no baseline. */
function compared<E extends Pick<LedgerEpisode, 'calls'>>(members: readonly E[]): readonly E[] {
  const called = members.filter(({ calls }) => calls.length > 0);
  return called.length === 0 ? members : called;
}

type Rules = { readonly batchSize: number; readonly collection?: Collection };

/**
 * Returns the number of groups of each share that are ready but do not count. The share samples one more group for each
 * of them.
 */
export function uncounted({ state, flight }: Flying, rules: Rules): GroupsByShare {
  const { collection = 'enough_tasks', batchSize } = rules;
  const counts: Record<string, number> = {};
  if (collection !== 'enough_episodes' && collection !== 'enough_informative_tasks') return counts;
  for (const group of flight.trainable) {
    const share = shareOf(group);
    const members = membersOf(state, group);
    const lack =
      collection === 'enough_episodes'
        ? 1 - members.length / group.places.length
        : Number(new Set(compared(members).map(({ reward }) => reward)).size < 2);
    counts[share] = Math.min((mostGrowth - 1) * batchSize, (counts[share] ?? 0) + lack);
  }
  return Object.fromEntries(Object.entries(counts).map(([share, count]) => [share, Math.ceil(count - 1e-9)]));
}
