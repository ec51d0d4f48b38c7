import type { BatchRules } from '@agentjet/ledger';
import { changesOf } from './config-changes.js';
import type { SwarmContext } from './swarm-context.js';

/** Returns the rules of a policy's batches, including the changes since the run began. */
export function rulesOf(context: Pick<SwarmContext, 'ledger' | 'policy' | 'settings' | 'tasks'>): BatchRules {
  const { rules } = context.settings;
  const { data, swarm } = changesOf(context);
  const batchSize = data.train_batch_size ?? rules.batchSize;
  return {
    ...rules,
    // As in an ordinary run, a batch does not draw more groups than there are tasks.
    batchSize: rules.order === 'drawn' ? Math.min(batchSize, context.tasks.sizeOf?.() || Infinity) : batchSize,
    ...(swarm.share_mode !== undefined && { isElastic: swarm.share_mode === 'elastic' }),
    ...(swarm.sample_collection !== undefined && { collection: swarm.sample_collection }),
  };
}
