import type { PartAuthor, TurnDescription } from '../contract.js';

/** One stored sample of an episode. All arrays have one length. */
export type EpisodeRow = {
  readonly agentName: string;
  readonly targetTag: string;
  readonly ids: readonly number[];
  readonly lossMask: readonly number[];
  readonly policyVersions: readonly number[];
};

/** The rows of an episode merged into a tree, which holds every token of the model's context once. */
export type EpisodeTree = {
  readonly branches: readonly Branch[];
  /** Turns as the tracker described them. For an episode without descriptions, they are derived from the rows. */
  readonly turns: readonly TurnDescription[];
  readonly areTurnsRecorded: boolean;
  readonly treeTokens: number;
  readonly rowTokens: number;
};

/** Tokens between two forks. `start` and `end` (exclusive) count from the beginning of the rows. */
export type Branch = {
  readonly start: number;
  readonly end: number;
  /** Shape [end - start]. */
  readonly ids: Int32Array;
  /** Rows that pass through the branch, or end in it while another row continues, in ascending order. */
  readonly rows: readonly number[];
  /** Turns whose new tokens begin in this branch, after the tokens that earlier calls had. */
  readonly begun: readonly number[];
  /** Authors of the tokens, without gaps. */
  readonly spans: readonly TokenSpan[];
  /** Children ordered by their first row. */
  readonly children: readonly Branch[];
  /** Number of tokens of this branch and of all branches below it. */
  readonly size: number;
};

/** `generated`: sampled and trained. `template`: printed by the chat template. `context`: the episode was stored without authors. */
export type SpanAuthor = PartAuthor | 'generated' | 'template' | 'context';

export type TokenSpan = {
  readonly start: number;
  readonly end: number;
  readonly author: SpanAuthor;
  readonly name?: string;
  /** The turns that sampled it. There are several if calls sampled the same tokens in the same context. */
  readonly turns: readonly number[];
};
