import type { EpisodeGroup } from '@agentjet/core';
import type { Draw } from '@agentjet/run-folder';

/**
 * A group that a source gives to the loop. The report holds what the rollout side knows in addition to the samples. The
 * loop sums and averages the report and records it, but does not interpret it.
 */
export type TrainingGroup = EpisodeGroup & {
  readonly report?: GroupReport;
  /** The draw of the tasks that this group came from; resuming needs it. Default: the next draw. */
  readonly draw?: Draw;
  /** Draws that this group replaced because their groups had no gradient. */
  readonly alsoDrawn?: readonly Draw[];
};

/** What the rollout side counted in one group. */
export type GroupReport = {
  /** All episodes that ran for this group, including failed ones and ones that are not in the group. */
  readonly episodes: number;
  readonly failedEpisodes: number;
  readonly successes: number;
  /** The kind of its task. The step's metrics report the success of each kind. */
  readonly kind?: string;
  /** Sum of the rewards of all these episodes. A failed episode has reward 0. */
  readonly rewardSum: number;
  /** Generated tokens of all these episodes. */
  readonly generatedTokens: number;
  /** Further counts of these episodes. The step's metrics sum each one under its own name. */
  readonly counts?: Readonly<Record<string, number>>;
  /**
   * Every attempt of this group, including lost, failed and cut-short ones. The trained ones are compared with them.
   */
  readonly attempts?: readonly AttemptLength[];
  /** Episodes that were given up because they took much longer than the others. */
  readonly staleEpisodes?: number;
  /**
   * The metrics that the workflow logged, one object per episode. The step's metrics average them as `workflow/<name>`.
   */
  readonly logMetrics?: readonly Readonly<Record<string, number>>[];
  /** Further values. Each one is averaged under its own name over the episodes that have it. */
  readonly means?: readonly Readonly<Record<string, number>>[];
  /**
   * The fields of an episode in episodes/ in addition to its samples: task, status, error and messages. Failed episodes
   * have them too.
   */
  readonly records?: readonly ({ readonly episode_id: string } & Readonly<Record<string, unknown>>)[];
};

/** The length of one attempt. An attempt that was cut short counts up to the cut. */
export type AttemptLength = {
  readonly episodeId: string;
  readonly tokens: number;
  readonly seconds: number;
  /** True if the attempt was ended by something other than the agent. */
  readonly isCut: boolean;
};
