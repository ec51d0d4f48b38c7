import type { LossSlope, SlopeTerms } from './backbone.js';

/** What the tracker hands to the trainer. */

/**
 * Why the tracker started a new branch instead of extending what the model had seen. `edited`: the request has other
 * words or arguments where the model's answer was; `rewritten`: it has other messages.
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
 * Position t is predicted from position t-1, so lossMask[0] is always 0. A generated token that is in several
 * rows of one episode has lossMask 1 in exactly one of them.
 */
export type Sample = {
  readonly episodeId: string;
  readonly agentName: string;
  readonly targetTag: string;
  /** Shape [T]. */
  readonly ids: Int32Array;
  /** Shape [T], 0 or 1. 1: this token was sampled by the engine and is trained here. */
  readonly lossMask: Uint8Array;
  /** Shape [T]: behaviour logprobs where lossMask is 1, else 0. */
  readonly logprobs: Float32Array;
  /** Shape [T]: weights version that sampled the token where lossMask is 1, else -1. */
  readonly policyVersions: Int32Array;
  /**
   * Shape [T]: which turn of the episode sampled the token where lossMask is 1, else -1. Two turns may sample the same
   * id in the same context (a retried call); by this number packing keeps both. Without it, a position that several
   * rows of one episode share is taken to hold one generated token.
   */
  readonly turnIndices?: Int32Array;
  /**
   * Shape [T]: temperature that the token was sampled at where lossMask is 1 (0: greedily), else 0. Absent: the run's.
   */
  readonly temperatures?: Float32Array;
  /** Shape [T]: set by Algorithm.credit where lossMask is 1, else 0. All 0 when the tracker makes it. */
  readonly advantages: Float32Array;
};

/**
 * What the trainer knows of an episode.
 *
 * Worked example, a game of two sides in which the wolf was also paid for its second turn:
 * `{ episodeId: 'e', reward: 0, rewards: { wolf: 1, villager: -1 }, turnRewards: [{ agentName: 'Ann', turnIndex: 3, value: 0.5 }], samples }`.
 */
export type RewardedEpisode = {
  readonly episodeId: string;
  /** Its place in the group, from 0. Siblings are ordered by their places as strings; default: by their ids. */
  readonly place?: number;
  readonly reward: number;
  /** By `Sample.targetTag`; a target that is not named has `reward`. */
  readonly rewards?: Readonly<Record<string, number>>;
  /** What was earned on the way, in addition to the rewards at the end. */
  readonly turnRewards?: readonly TurnReward[];
  readonly samples: readonly Sample[];
};

/** What an agent earned with everything up to its turn `turnIndex` (see `Sample.turnIndices`). */
export type TurnReward = { readonly agentName: string; readonly turnIndex: number; readonly value: number };

/** The siblings of one task: numRepeat episodes whose rewards are compared with one another. */
export type EpisodeGroup = {
  readonly groupId: string;
  /** The groups of a batch are ordered by it, as strings. Default: the id. See `drawName`. */
  readonly rank?: string;
  readonly episodes: readonly RewardedEpisode[];
};

/**
 * Sets advantages per token; may bring its own loss. Must not depend on how many samples an episode was cut into.
 */
export interface Algorithm {
  readonly name: string;
  /** `sft`: its samples are imitated. Otherwise the policy loss of the configuration trains them. */
  readonly loss?: 'sft';
  /** Fewest episodes of a group that give an advantage other than 0. Default: 1. */
  readonly leastEpisodes?: number;
  credit(group: EpisodeGroup): readonly Sample[];
  /** Instead of `credit`, where the baseline spans all groups of a step. The order of the groups must not matter. */
  creditBatch?(groups: readonly EpisodeGroup[]): readonly Sample[];
  /** The algorithm's own loss, in place of the configured one: see LossSlope. */
  slope?(terms: SlopeTerms): ReturnType<LossSlope>;
}
