import type { EpisodeGroup, MetricValues } from '@agentjet/core';
import type { Draw } from '@agentjet/run-folder';

/**
 * A group that a source gives to the loop. The report has the counts and metrics of the rollout side. The loop adds up,
 * averages and records them, but does not interpret them.
 */
export type TrainingGroup = EpisodeGroup & {
  readonly report?: GroupReport;
  /** The number of the draw of tasks that this group comes from, which a resumed run needs. Default: the next draw. */
  readonly draw?: Draw;
  /** The draws that this group replaces, because their groups had no gradient. */
  readonly alsoDrawn?: readonly Draw[];
};

/** The counts of one group by the rollout side. */
export type GroupReport = {
  /** All episodes that ran for this group, including failed ones and ones that are not in the group. */
  readonly episodes: number;
  readonly failedEpisodes: number;
  readonly successes: number;
  /** The kind of the group's task. The step's metrics report the success of each kind. */
  readonly kind?: string;
  /** Sum of the rewards of all these episodes. A failed episode has reward 0. */
  readonly rewardSum: number;
  /** Generated tokens of all these episodes. */
  readonly generatedTokens: number;
  /** Further counts of these episodes. The step's metrics sum each one under its own name. */
  readonly counts?: MetricValues;
  /**
   * Every attempt of this group, including lost, failed and interrupted attempts. The lengths of the trained episodes
   * are compared with theirs.
   */
  readonly attempts?: readonly AttemptLength[];
  /** Episodes that were given up because they took much longer than the others. */
  readonly staleEpisodes?: number;
  /**
   * The metrics that the workflow logged, one object per episode. The step's metrics average them as `workflow/<name>`.
   */
  readonly logMetrics?: readonly Readonly<Record<string, number>>[];
  /**
   * Further values. The metrics of the step have the mean of each value, under its name, over the episodes that have
   * it.
   */
  readonly means?: readonly MetricValues[];
  /**
   * The fields of an episode in episodes/ in addition to its samples: task, status, error and messages. Failed episodes
   * have them too.
   */
  readonly records?: readonly ({ readonly episode_id: string } & Readonly<Record<string, unknown>>)[];
};

/** The length of one attempt. An interrupted attempt counts up to its interruption. */
export type AttemptLength = {
  readonly episodeId: string;
  readonly tokens: number;
  readonly seconds: number;
  /** True if the attempt was ended by something other than the agent. */
  readonly isCut: boolean;
};
