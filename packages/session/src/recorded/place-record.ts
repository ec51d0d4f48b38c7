import type { Task } from '@agentjet/core';
import { Ledger, type LedgerEpisode, type LedgerOptions, type NewEnd, type Purpose } from '@agentjet/ledger';
import type { Episode } from '@agentjet/rollout';

/** Which step of a run a group is sampled for. */
export type SampledFor = { readonly purpose: Purpose; readonly step: number };

/**
 * Where the places of a run are kept. Ids of groups and episodes are unique within a step only, so the ledger has longer ones.
 * A record in memory forgets groups when they are sampled; one on disk gives finished episodes back after a crash.
 */
export type PlaceRecord = {
  readonly ledger: Ledger;
  readonly isKept: boolean;
  /** In the ledger, of the group that a step calls `groupId`. */
  readonly groupIdOf: (groupId: string, at: SampledFor) => string;
  /** For another attempt that the step calls `episodeId`. */
  readonly newEpisode: (episodeId: string, groupId: string) => { readonly episodeId: string; readonly claimId: string };
  /** What a finished attempt left, if there is one. `groupId` is the ledger's. */
  readonly recall: (episodeId: string, groupId: string, task: Task) => Episode | undefined;
  /** The ledger's entry of that attempt. */
  readonly newestOf: (episodeId: string, groupId: string) => Readonly<LedgerEpisode> | undefined;
  /** For the end record of an episode. */
  readonly sealOf: (episode: Episode) => Pick<NewEnd, 'content' | 'bytes'>;
  /** Throws if what was recorded is not on the disk. */
  readonly check: () => void;
};

/** Of a run that nobody resumes. */
export function createMemoryRecord(options: Pick<LedgerOptions, 'rules' | 'now'>): PlaceRecord {
  return {
    ledger: new Ledger(options),
    isKept: false,
    groupIdOf: (groupId) => groupId,
    newEpisode: (episodeId) => ({ episodeId, claimId: episodeId }),
    recall: () => undefined,
    newestOf: () => undefined,
    sealOf: () => ({}),
    check: () => undefined,
  };
}
