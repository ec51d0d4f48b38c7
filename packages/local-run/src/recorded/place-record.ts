import type { Task, CommonConfig } from '@agentjet/core';
import {
  Ledger,
  type LedgerEpisode,
  type LedgerOptions,
  type NewEnd,
  type Purpose,
  createRules,
  type LedgerRules,
} from '@agentjet/ledger';
import type { Episode } from '@agentjet/rollout';

/** The purpose and the step that a group is sampled for. */
export type SampledFor = { readonly purpose: Purpose; readonly step: number };

/**
 * Records a run's groups and their episodes. The run's ids of groups and episodes are unique only within a step, so the
 * ledger uses longer ids. A record in memory forgets each group after its sampling has ended. A record on disk returns
 * finished episodes after a crash.
 */
export type PlaceRecord = {
  readonly ledger: Ledger;
  readonly isKept: boolean;
  /** Returns the ledger's id of a group whose id in the step is `groupId`. */
  readonly groupIdOf: (groupId: string, at: SampledFor) => string;
  /** Returns an unused ledger id for a new attempt at the episode `episodeId` of the step, and the id of its claim. */
  readonly newEpisode: (episodeId: string, groupId: string) => { readonly episodeId: string; readonly claimId: string };
  /** Returns the episode of a finished attempt, if there is one. `groupId` is the ledger's id. */
  readonly recall: (episodeId: string, groupId: string, task: Task) => Episode | undefined;
  /** Returns the ledger's entry of this attempt. */
  readonly newestOf: (episodeId: string, groupId: string) => Readonly<LedgerEpisode> | undefined;
  /** Returns the content for the end record of an episode. */
  readonly sealOf: (episode: Episode) => Pick<NewEnd, 'content' | 'bytes'>;
  /** Throws if the records are not on the disk. */
  readonly check: () => void;
};

/** Creates the record of a run that is never resumed. */
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

/**
 * Reads the rules for places from the configuration of an ordinary run. They have no time limits, because the run
 * itself limits the time of each episode.
 */
export function placeRules({ rollout }: CommonConfig): LedgerRules {
  const { failedEpisodePolicy, maxAttempts, minGroupShare } = rollout;
  return createRules({ failedEpisodePolicy, maxAttempts, minGroupShare, groupPatienceMs: null, scorePatienceMs: null });
}
