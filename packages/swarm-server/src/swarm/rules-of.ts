import type { BatchRules, LedgerState } from '@agentjet/ledger';
import { changesOf } from './config-changes.js';
import type { SwarmSettings } from './settings.js';

/** The rules with what was changed since the run began. */
export function rulesOf(state: LedgerState, { rules }: SwarmSettings): BatchRules {
  const { data, swarm } = changesOf(state);
  return {
    ...rules,
    batchSize: data.train_batch_size ?? rules.batchSize,
    ...(swarm.share_mode !== undefined && { isElastic: swarm.share_mode === 'elastic' }),
    ...(swarm.sample_collection !== undefined && { collection: swarm.sample_collection }),
  };
}
