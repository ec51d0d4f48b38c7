import type { ClaimAnswer, ClaimedEpisode } from '@agentjet/swarm-wire';

/** Options of `SharedClaims`. */
export type SharedClaimsOptions = {
  /** Claims up to `count` episodes. Resolves with undefined if this claim is over and another one is needed. */
  readonly claim: (count: number) => Promise<ClaimAnswer | undefined>;
  /** Whether the answer, which has no episodes, says that none will come. */
  readonly isDone: (answer: ClaimAnswer) => boolean;
  /** Waits before the next claim after a claim without episodes. */
  readonly rest: (answer: ClaimAnswer | undefined) => Promise<void>;
  /** Waits a moment so that more slots share the claim. */
  readonly gather: () => Promise<void>;
  /** Aborts when the client stops. */
  readonly signal: AbortSignal;
};

/**
 * The most episodes of one claim. With a larger number, one of several clients could take a whole batch while the others
 * have nothing to do.
 */
const mostEpisodes = 8;

/**
 * Claims episodes for the idle slots of a client. Slots that become idle at about the same time share a request, because
 * a request costs as much time as a short episode.
 */
export class SharedClaims {
  readonly #options: SharedClaimsOptions;
  #idle: Slot[] = [];

  constructor(options: SharedClaimsOptions) {
    this.#options = options;
  }

  /** Resolves with an episode, or with undefined if the slot gets none any more. Rejects if the client is refused. */
  next(): Promise<ClaimedEpisode | undefined> {
    return new Promise((resolve, reject) => {
      this.#idle.push({ resolve, reject });
      if (this.#idle.length === 1) void this.#send();
    });
  }

  async #send(): Promise<void> {
    await this.#options.gather();
    const idle = this.#idle;
    this.#idle = [];
    while (idle.length > 0) void this.#serve(idle.splice(0, mostEpisodes));
  }

  async #serve(slots: Slot[]): Promise<void> {
    const { claim, isDone, rest, signal } = this.#options;
    try {
      while (slots.length > 0 && !signal.aborted) {
        const answer = await claim(slots.length);
        const episodes = answer?.episodes ?? [];
        for (const episode of episodes) slots.shift()?.resolve(episode);
        if (episodes.length > 0) continue;
        if (answer !== undefined && isDone(answer)) break;
        await rest(answer);
      }
      for (const { resolve } of slots) resolve(undefined);
    } catch (error) {
      for (const { reject } of slots) reject(error);
    }
  }
}

type Slot = {
  readonly resolve: (episode: ClaimedEpisode | undefined) => void;
  readonly reject: (error: unknown) => void;
};
