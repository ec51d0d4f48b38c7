import type { PartAuthor, TurnDescription } from '../contract.js';

/** One sample of an episode, as it is kept: arrays of one length. */
export type EpisodeRow = {
  readonly agentName: string;
  readonly targetTag: string;
  readonly ids: readonly number[];
  readonly lossMask: readonly number[];
  readonly policyVersions: readonly number[];
};

/** The rows of an episode laid over one another: every token of the model's context once. */
export type EpisodeTree = {
  readonly branches: readonly Branch[];
  /** As the tracker described them; else, for episodes that were kept without, what the rows still tell. */
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
  /** The rows that pass through, or end in here where another goes on, ascending. */
  readonly rows: readonly number[];
  /** Turns whose context leaves what was known in here. */
  readonly begun: readonly number[];
  /** Who wrote which tokens, without gaps. */
  readonly spans: readonly TokenSpan[];
  /** By their first row. */
  readonly children: readonly Branch[];
  /** Tokens of this branch and of all below it. */
  readonly size: number;
};

/** `generated`: sampled, and trained. `template`: printed by the chat template. `context`: the episode was kept without saying who wrote it. */
export type SpanAuthor = PartAuthor | 'generated' | 'template' | 'context';

export type TokenSpan = {
  readonly start: number;
  readonly end: number;
  readonly author: SpanAuthor;
  readonly name?: string;
  /** The turns that sampled it: several where calls sampled the same in the same context. */
  readonly turns: readonly number[];
};
