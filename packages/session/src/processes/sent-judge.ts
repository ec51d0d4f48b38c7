import type { EpisodeOptions } from '@agentjet/rollout';
import type { EpisodeOrder, FromProcess } from './messages.js';

/** The judge's absence, as a process of workflows tells the run of it, and its return, as the run tells the process. */
export class SentJudge {
  readonly #send: (message: FromProcess) => void;
  readonly #waiting = new Map<string, () => void>();

  constructor(send: (message: FromProcess) => void) {
    this.#send = send;
  }

  /** Undefined if the episode may not wait for its judge. */
  keeperOf({ scorePatienceMs }: Pick<EpisodeOrder, 'scorePatienceMs'>, episodeId: string): EpisodeOptions['keeper'] {
    if (scorePatienceMs === undefined) return undefined;
    return {
      scorePatienceMs,
      judgeIsAway: (_id, message) => this.#send({ type: 'judge_away', episodeId, message }),
      onJudgeBack: (listener) => {
        this.#waiting.set(episodeId, listener);
        return () => void this.#waiting.delete(episodeId);
      },
    };
  }

  back(episodeId: string): void {
    this.#waiting.get(episodeId)?.();
  }
}
