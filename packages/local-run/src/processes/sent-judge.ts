import type { EpisodeOptions } from '@agentjet/rollout';
import type { EpisodeOrder, RunFunctions } from './functions.js';

/**
 * A process of workflows reports to the run that its judge cannot be reached, and the run reports to the process when
 * the judge is back.
 */
export class SentJudge {
  readonly #judgeAway: RunFunctions['judgeAway'];
  readonly #waiting = new Map<string, () => void>();

  constructor(judgeAway: RunFunctions['judgeAway']) {
    this.#judgeAway = judgeAway;
  }

  /** Undefined if the episode may not wait for its judge. */
  keeperOf({ scorePatienceMs }: Pick<EpisodeOrder, 'scorePatienceMs'>, episodeId: string): EpisodeOptions['keeper'] {
    if (scorePatienceMs === undefined) return undefined;
    return {
      scorePatienceMs,
      judgeIsAway: this.#judgeAway,
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
