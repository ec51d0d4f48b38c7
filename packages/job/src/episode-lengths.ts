import type { MeasuredLengths } from '@agentjet/core';
import type { Episode } from '@agentjet/rollout';

/** Measures the lengths of episodes in tokens, for a forecast that does not guess from the limits of the configuration. */
export class EpisodeLengths {
  #episodes = 0;
  #longest = 0;
  #rows = 0;
  #answers = 0;

  get episodes(): number {
    return this.#episodes;
  }

  add({ samples, stats }: Pick<Episode, 'samples' | 'stats'>): void {
    this.#episodes++;
    for (const { ids } of samples) {
      this.#longest = Math.max(this.#longest, ids.length);
      this.#rows += ids.length;
    }
    this.#answers += stats.generatedTokens;
  }

  /** Null if no episode had tokens. */
  measured(): MeasuredLengths | null {
    if (this.#longest === 0) return null;
    const { episodes, longest } = { episodes: this.#episodes, longest: this.#longest };
    return { longestSample: longest, episodeTokens: this.#rows / episodes, answerTokens: this.#answers / episodes };
  }
}
