import type { ChatModel } from '@agentjet/core';
import { type AgentIdentity, createContextTracker, type TrackerStats } from '@agentjet/context-tracker';
import type { Episode, Policy, SamplingDefaults } from '../contract.js';
import { CallLedger } from '../model/call-ledger.js';
import { createGuardedModel } from '../model/guarded-model.js';
import { createTunedModel } from '../model/tuned-model.js';

const nothingTracked: TrackerStats = {
  calls: 0,
  generatedTokens: 0,
  trainedTokens: 0,
  samples: 0,
  forks: {},
  splices: {},
  foreignMessages: {},
};

/** What the models of one episode write, and what is left of it at the end. */
export type EpisodeRecord = {
  readonly createModel: (agent: AgentIdentity) => ChatModel;
  readonly finish: () => Pick<Episode, 'samples' | 'turns' | 'stats' | 'calls'>;
};

type RecordOptions = { readonly policy: Policy; readonly sampling: SamplingDefaults };
type RecordIdentity = { readonly episodeId: string; readonly seed: number };

export function openRecord(
  { policy, sampling }: RecordOptions,
  { episodeId, seed }: RecordIdentity,
  signal: AbortSignal,
): EpisodeRecord {
  const ledger = new CallLedger();
  if (policy.kind === 'chat') {
    return {
      createModel: () => createGuardedModel(policy.model, ledger, signal),
      finish: () => ({ samples: [], turns: [], stats: nothingTracked, calls: ledger.counts }),
    };
  }
  const { engine, chatTokenizer, historyPolicy } = policy;
  const tracker = createContextTracker({
    episodeId,
    chatTokenizer,
    ...(historyPolicy === undefined ? {} : { historyPolicy }),
  });
  return {
    createModel: (agent) => createTunedModel({ agent, tracker, engine, chatTokenizer, sampling, ledger, seed, signal }),
    finish: () => ({
      samples: tracker.finish(),
      turns: tracker.describe(),
      stats: tracker.stats(),
      calls: ledger.counts,
    }),
  };
}
