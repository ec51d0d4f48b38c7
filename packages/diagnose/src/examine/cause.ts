import type { ExaminedRun, FigureName } from './examined-run.js';
import type { Finding } from './finding.js';

/**
 * Records that a cause needs: figures, evaluations on held-out tasks, success in training or on held-out tasks, parts of
 * the reward, or episodes.
 */
export type CauseNeed = FigureName | 'evaluations' | 'any success' | 'parts' | 'episodes';

/** What a cause saw in a run. */
export type Sighting = Pick<Finding, 'summary' | 'cure' | 'taken'> &
  Partial<Pick<Finding, 'asks' | 'since' | 'episodes'>> & {
    /** Causes that follow from this one in this run. Default: those of the cause. */
    readonly explains?: readonly string[];
    /** Whether the causes that follow from this one need no change either. Default: false. */
    readonly settles?: boolean;
  };

/** One thing that can keep a run from learning. It is a file in `causes` and a line in `causes.ts`. */
export type Cause = {
  /** The name in snake_case. */
  readonly name: string;
  /** The cause is looked for only if the run has all of these. */
  readonly needs: readonly CauseNeed[];
  /** The limit that `look` uses, and the reason for it. */
  readonly threshold: string;
  /** Causes that follow from this one. They rank after it. */
  readonly explains: readonly string[];
  /**
   * The cause explains others only if it takes at least this share of the signal: if a tenth of the answers is cut, this
   * is not why no task is solved. Default: 0.
   */
  readonly explainsFrom?: number;
  /** Returns undefined if the run does not show the cause. */
  readonly look: (run: ExaminedRun) => Sighting | undefined;
};
