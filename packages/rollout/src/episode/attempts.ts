import type { Task } from '@agentjet/core';
import type { Episode } from '../contract.js';

/** One try at a place of a group. A try that the world lost is made again, with the same seed: it is the same experiment. */
export type Attempt = {
  readonly groupId: string;
  readonly task: Task;
  /** Which of the group's `numPlaces` episodes it is, from 0. */
  readonly place: number;
  readonly numPlaces: number;
  /** From 0. */
  readonly attempt: number;
  readonly episodeId: string;
  readonly seed: number;
};

/** An attempt that had finished before the process began. */
export type RecalledAttempt = {
  readonly episode: Episode;
  /** False: the world lost it, and its place was tried again. */
  readonly isFinal: boolean;
};

/** Decides about attempts: when one may start, and whether a lost one is made again. Shared by all groups of a run. */
export interface AttemptKeeper {
  /** What became of the attempt in an earlier process, if it finished there: then it is not made again. */
  recall?(attempt: Attempt): RecalledAttempt | undefined;
  /** Resolves once the attempt may start. Rejects to end the run. */
  begin(attempt: Attempt, signal: AbortSignal): Promise<void>;
  /** Told what became of an attempt. True: its place is tried again. Throws to end the run. */
  end(attempt: Attempt, episode: Episode): boolean;
  /** The judge cannot be reached; the episode waits for its reward. */
  judgeIsAway(episodeId: string, message: string): void;
  /** Calls the listener when the judge has answered an episode after it was away. What it returns ends that. */
  onJudgeBack?(listener: () => void): () => void;
  /** True while no further attempt may start because the world is down. */
  isPaused?(): boolean;
  /** How long an episode may wait for its reward, ms; null: for ever. */
  readonly scorePatienceMs: number | null;
}

/** What became of one place: the episode that counts, and the attempts that were lost before it. */
export type PlaceOutcome = { readonly episode: Episode; readonly lost: readonly Episode[] };

/** `e1-task7-r3`, and `e1-task7-r3-a1` for the first attempt after a lost one. */
function attemptId(firstId: string, attempt: number): string {
  return attempt === 0 ? firstId : `${firstId}-a${attempt}`;
}

/** Attempts at one place until one is kept, or given up. Without a keeper there is one attempt. */
export async function runPlace(
  place: Omit<Attempt, 'attempt'>,
  options: {
    readonly keeper: AttemptKeeper | undefined;
    readonly signal: AbortSignal;
    readonly run: (attempt: Attempt) => Promise<Episode>;
    /** Told of an attempt that is not made again. */
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
