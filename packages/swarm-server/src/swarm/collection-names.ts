import { collections, type Collection } from '@agentjet/ledger';

/** The names that the original AgentJet gives to the same rules. */
const originals: ReadonlyMap<unknown, Collection> = new Map([
  ['finish_enough_tasks', 'enough_tasks'],
  ['finish_enough_episodes', 'enough_episodes'],
  ['finish_enough_non_dummy_tasks', 'enough_informative_tasks'],
  ['any_client_agree_sync_weight', 'any_client_asks'],
  ['all_client_agree_sync_weight', 'all_clients_ask'],
]);

/**
 * Returns the rule that decides when enough was sampled for a step. It accepts our name and the original name of the
 * rule, and returns undefined for any other name.
 */
export const toCollection = (name: unknown): Collection | undefined =>
  collections.find((each) => each === name) ?? originals.get(name);
