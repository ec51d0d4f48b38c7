import type { Task } from '@agentjet/core';
import type { Episode } from '../contract.js';

/**
 * One attempt at an episode of a group. Each episode of a group has a place in it, and each place needs one episode
 * that counts. If an attempt is lost to an outage, the next attempt uses the same seed, because it repeats the same
 * experiment.
 */
export type Attempt = {
  readonly groupId: string;
  readonly task: Task;
  /** The index of the place in the group, from 0 to `numPlaces` - 1. */
  readonly place: number;
  readonly numPlaces: number;
  /** Counts from 0. */
  readonly attempt: number;
  readonly episodeId: string;
  readonly seed: number;
};

/** An attempt that finished before this process began. */
export type RecalledAttempt = {
  readonly episode: Episode;
  /** False if it was lost to an outage, so another attempt followed. */
  readonly isFinal: boolean;
};

/**
 * Decides when an attempt may start, and whether a lost attempt is followed by another. All groups of a run share one
 * keeper.
 */
export interface AttemptKeeper {
  /** Returns the attempt's outcome if it finished in an earlier process. Such an attempt is not repeated. */
  recall?(attempt: Attempt): RecalledAttempt | undefined;
  /** Resolves once the attempt may start. Rejects to end the run. */
  begin(attempt: Attempt, signal: AbortSignal): Promise<void>;
  /** Called with the outcome of an attempt. Returns true to try its place again. Throws to end the run. */
  end(attempt: Attempt, episode: Episode): boolean;
  /** Called when the judge cannot be reached, so an episode has to wait for its reward. */
  judgeIsAway(episodeId: string, message: string): void;
  /**
   * Calls the listener whenever the judge answers an episode after an outage. Returns a function that removes the
   * listener.
   */
  onJudgeBack?(listener: () => void): () => void;
  /** True while an outage holds back further attempts. */
  isPaused?(): boolean;
  /** How long an episode may wait for its reward, in ms. Null means without limit. */
  readonly scorePatienceMs: number | null;
}

/** The outcome of one place: the episode that counts, and the attempts that were lost before it. */
export type PlaceOutcome = { readonly episode: Episode; readonly lost: readonly Episode[] };

/** Returns `e1-task7-r3`, or `e1-task7-r3-a1` for the first attempt after a lost one. */
function attemptId(firstId: string, attempt: number): string {
  return attempt === 0 ? firstId : `${firstId}-a${attempt}`;
}

/**
 * Makes attempts for one place until one attempt counts or the place is given up. Without a keeper, it makes one
 * attempt.
 */
export async function runPlace(
  place: Omit<Attempt, 'attempt'>,
  options: {
    readonly keeper: AttemptKeeper | undefined;
    readonly signal: AbortSignal;
    readonly run: (attempt: Attempt) => Promise<Episode>;
    /** Called with the outcome of an attempt that finished in an earlier process. */
    readonly onRecalled?: (episode: Episode) => void;
  },
): Promise<PlaceOutcome> {
  const { keeper, signal, run, onRecalled } = options;
  const lost: Episode[] = [];
  for (;;) {
    const attempt = { ...place, attempt: lost.length, episodeId: attemptId(place.episodeId, lost.length) };
    const recalled = keeper?.recall?.(attempt);
    if (recalled !== undefined) {
      onRecalled?.(recalled.episode);
      if (recalled.isFinal) return { episode: recalled.episode, lost };
      lost.push(recalled.episode);
      continue;
    }
    if (!signal.aborted) await keeper?.begin(attempt, signal);
    const episode = await run(attempt);
    if (signal.aborted || keeper?.end(attempt, episode) !== true) return { episode, lost };
    lost.push(episode);
  }
}
