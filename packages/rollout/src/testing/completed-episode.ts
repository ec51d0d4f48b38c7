import type { Episode } from '../contract.js';
import { nothingTracked } from '../episode/episode-record.js';
import { noCalls } from '../model/call-ledger.js';

type Completed = Extract<Episode, { readonly status: 'completed' }>;

/** Returns an episode with reward 1 that made no call, except for the fields in `parts`. */
export const completedEpisode = (parts: Partial<Completed> = {}): Completed => ({
  episodeId: 'e',
  task: { taskId: 't', mainQuery: '', initMessages: [], metadata: {} },
  repeatIndex: 0,
  seed: 1,
  samples: [],
  turns: [],
  stats: nothingTracked,
  calls: noCalls,
  ignoredParameters: {},
  metadata: {},
  logMetrics: {},
  seconds: 1,
  status: 'completed',
  reward: 1,
  isSuccess: true,
  ...parts,
});
