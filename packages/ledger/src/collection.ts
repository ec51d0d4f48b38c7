import { sampleCollections } from '@agentjet/core';
import type { Ledger } from './ledger.js';
import { membersOf } from './places.js';
import { shareOf, type GroupsByShare } from './shares.js';
import type { PolicyLine } from './state.js';

/**
 * When enough was sampled for a step. The names in brackets are the original AgentJet's:
 * - `enough_tasks`: as many groups as a batch has (finish_enough_tasks)
 * - `enough_episodes`: as many episodes as that many whole groups have, so that a group with given up places is made up for
 *   (finish_enough_episodes)
 * - `enough_informative_tasks`: as many groups in which two rewards differ; the others are trained too, and do not count
 *   (finish_enough_non_dummy_tasks)
 * - `any_client_asks`, `all_clients_ask`: when a client, or every client that is alive, asks for the step; all that was
 *   sampled until then is trained (any_client_agree_sync_weight, all_client_agree_sync_weight)
 */
export const collections = sampleCollections;

export type Collection = (typeof collections)[number];

/** What is known now that the ledger does not say. */
export type Look = {
  /** Nothing more will come: a smaller batch is trained, too. */
  readonly isLast?: boolean;
  /** Shares that nobody works for now. */
  readonly idle?: ReadonlySet<string>;
  /** The clients ask for the step. */
  readonly isAgreed?: boolean;
  /** The step that the loop is done with, its evaluation and its checkpoint included. Default: the newest that was decided. */
  readonly doneStep?: number;
  /** The last step of the run. Default: there is none. */
  readonly lastStep?: number;
};

/** A ledger, as far as the batches of one policy look at it. */
export type Flying = Pick<Ledger, 'state' | 'flight'> & {
  readonly policy: string;
  /** How far its weights are. */
  readonly line: PolicyLine;
};

/** A batch grows to at most so many times its size while it waits for groups that count. */
const mostGrowth = 4;

export const isAgreement = ({ collection }: { readonly collection?: Collection }): boolean =>
  collection === 'any_client_asks' || collection === 'all_clients_ask';

type Rules = { readonly batchSize: number; readonly collection?: Collection };

/** Groups by share that are ready and do not count: others of their share are sampled in addition. */
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
        : Number(new Set(members.map(({ reward }) => reward)).size < 2);
    counts[share] = Math.min((mostGrowth - 1) * batchSize, (counts[share] ?? 0) + lack);
  }
  return Object.fromEntries(Object.entries(counts).map(([share, count]) => [share, Math.ceil(count - 1e-9)]));
}
