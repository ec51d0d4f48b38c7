import type { EpisodeGroup } from '@agentjet/core';
import type { Draw } from '@agentjet/run-folder';

/**
 * What a source gives the loop. The report is what the rollout side knows in addition to the samples. The loop adds it up,
 * averages it and writes it down, and understands nothing of it.
 */
export type TrainingGroup = EpisodeGroup & {
  readonly report?: GroupReport;
  /** Which draw of the tasks it came of, for resuming. Default: the next one. */
  readonly draw?: Draw;
  /** Draws that it replaced because their groups had no gradient. */
  readonly alsoDrawn?: readonly Draw[];
};

/** What the rollout side counted in one group. */
export type GroupReport = {
  /** Episodes that ran for this group, failed ones included, also those that are not in the group. */
  readonly episodes: number;
  readonly failedEpisodes: number;
  readonly successes: number;
  /** Of all these episodes; a failed one has 0. */
  readonly rewardSum: number;
  /** Of all these episodes. */
  readonly generatedTokens: number;
  /** What else was counted in these episodes; added up in the step's metrics, each under its own name. */
  readonly counts?: Readonly<Record<string, number>>;
  /** Every attempt of this group, also those that were lost, failed or cut short. Compared with the trained ones. */
  readonly attempts?: readonly AttemptLength[];
  /** Episodes that were given up because they took much longer than the others. */
  readonly staleEpisodes?: number;
  /** What the workflow logged, one object per episode; averaged into the step's metrics as `workflow/<name>`. */
  readonly logMetrics?: readonly Readonly<Record<string, number>>[];
  /** What else is averaged over the episodes that have it, each value under its own name. */
  readonly means?: readonly Readonly<Record<string, number>>[];
  /** The fields of an episode in episodes/ in addition to its samples: task, status, error, messages. Failed episodes have them too. */
  readonly records?: readonly ({ readonly episode_id: string } & Readonly<Record<string, unknown>>)[];
};

/** How long one attempt was; one that was cut short counts with what it had. */
export type AttemptLength = {
  readonly episodeId: string;
  readonly tokens: number;
  readonly seconds: number;
  /** True if somebody else than the agent ended it. */
  readonly isCut: boolean;
};
