import type { PartAuthor, TurnDescription } from '../contract.js';

/** The rows of an episode merged into a tree, which holds every token of the model's context once. */
export type EpisodeTree = {
  readonly branches: readonly Branch[];
  /** Turns as the tracker described them. */
  readonly turns: readonly TurnDescription[];
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

/** `generated`: sampled and trained. `template`: printed by the chat template. */
export type SpanAuthor = PartAuthor | 'generated' | 'template';

export type TokenSpan = {
  readonly start: number;
  readonly end: number;
  readonly author: SpanAuthor;
  readonly name?: string;
  /**
   * The turns that sampled the span. There are several if several calls sampled the same tokens in the same context.
   */
  readonly turns: readonly number[];
};
