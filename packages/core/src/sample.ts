import type { LossSlope, SlopeTerms } from './backbone.js';

/** The data that the tracker hands to the trainer. */

/**
 * The reason why the tracker started a new branch instead of extending what the model had seen. `edited`: the request has
 * other words or arguments in place of the model's answer. `rewritten`: it has other messages.
 */
export type ForkCause = 'rewritten' | 'edited' | 'template' | 'retokenized' | 'tools' | 'system';

/**
 * One trainable token row of an episode: a root-to-leaf path of what the model really saw.
 *
 * Worked example: the prompt was [5, 6, 7], the model sampled [8, 2] (2 is the end token):
 * ```
 * { ids: [5, 6, 7, 8, 2], lossMask: [0, 0, 0, 1, 1], logprobs: [0, 0, 0, -0.11, -0.02],
 *   policyVersions: [-1, -1, -1, 4, 4], advantages: [0, 0, 0, 0.7, 0.7], ... }
 * ```
 * Position t is predicted from position t-1, so lossMask[0] is always 0. If a generated token is in several rows of one
 * episode, exactly one of them has lossMask 1 for it.
 */
export type Sample = {
  readonly episodeId: string;
  readonly agentName: string;
  readonly targetTag: string;
  /** Shape [T]. */
  readonly ids: Int32Array;
  /** Shape [T], 0 or 1. 1: the engine sampled this token, and it is trained in this row. */
  readonly lossMask: Uint8Array;
  /** Shape [T]: behaviour logprobs if lossMask is 1, else 0. */
  readonly logprobs: Float32Array;
  /** Shape [T]: weights version that sampled the token if lossMask is 1, else -1. */
  readonly policyVersions: Int32Array;
  /**
   * Shape [T]: the turn of the episode that sampled the token if lossMask is 1, else -1. Two turns may sample the same id in
   * the same context (a retried call), and packing keeps both by this number. If absent, a position that several rows of one
   * episode share is taken to hold one generated token.
   */
  readonly turnIndices?: Int32Array;
  /**
   * Shape [T]: the temperature that the token was sampled at if lossMask is 1 (0: greedily), else 0. Absent: that of the run.
   */
  readonly temperatures?: Float32Array;
  /** Shape [T]: the teacher's logprobs if lossMask is 1, else 0. Only an algorithm that needs a teacher gets them. */
  readonly teacherLogprobs?: Float32Array;
  /** Shape [T]: set by Algorithm.credit if lossMask is 1, else 0. The tracker sets all to 0. */
  readonly advantages: Float32Array;
};

/**
 * The part of an episode that the trainer gets.
 *
 * Worked example, a game of two sides in which the wolf also got a reward for its second turn:
 * `{ episodeId: 'e', reward: 0, rewards: { wolf: 1, villager: -1 }, turnRewards: [{ agentName: 'Ann', turnIndex: 3, value: 0.5 }], samples }`.
 */
export type RewardedEpisode = {
  readonly episodeId: string;
  /** Its place in the group, from 0. Siblings are ordered by their places as strings. Default: by their ids. */
  readonly place?: number;
  readonly reward: number;
  /** Rewards by `Sample.targetTag`. A target that is not named gets `reward`. */
  readonly rewards?: Readonly<Record<string, number>>;
  /** Rewards that were earned during the episode, in addition to the rewards at the end. */
  readonly turnRewards?: readonly TurnReward[];
  readonly samples: readonly Sample[];
  /** Whether a token limit cut an answer of the episode. Default: false. */
  readonly isCut?: boolean;
};

/** The reward that an agent earned with everything up to its turn `turnIndex` (see `Sample.turnIndices`). */
export type TurnReward = { readonly agentName: string; readonly turnIndex: number; readonly value: number };

/** The episodes of one task: numRepeat siblings whose rewards are compared with one another. */
export type EpisodeGroup = {
  readonly groupId: string;
  /** The groups of a batch are ordered by it, as strings. Default: the id. See `drawName`. */
  readonly rank?: string;
  readonly episodes: readonly RewardedEpisode[];
};

/**
 * Sets advantages per token, and may have its own loss. The result must not depend on how many samples an episode was cut into.
 */
export interface Algorithm {
  readonly name: string;
  /** `sft`: its samples are imitated. If absent, the policy loss of the configuration trains them. */
  readonly loss?: 'sft';
  /** The smallest number of episodes with which a group has an advantage other than 0. Default: 1. */
  readonly leastEpisodes?: number;
  /** If true, `credit` gets samples with `teacherLogprobs`, and a run needs `teacher.model`. Default: false. */
  readonly needsTeacher?: boolean;
  credit(group: EpisodeGroup): readonly Sample[];
  /** Replaces `credit` if the baseline spans all groups of a step. The order of the groups must not matter. */
  creditBatch?(groups: readonly EpisodeGroup[]): readonly Sample[];
  /** The algorithm's own loss, which replaces the configured one: see LossSlope. */
  slope?(terms: SlopeTerms): ReturnType<LossSlope>;
}
