import type { Ledger } from '@agentjet/ledger';

/**
 * How long episodes may run. It counts on the clock of the leases, so not while the server is paused or changes weights, and
 * begins anew after a recovery. All have the same time, so the one that began first is over first.
 */
export class EpisodeDeadlines {
  readonly #clock: Ledger['clock'];
  readonly #limitMs: number | undefined;
  readonly #begunMs = new Map<string, number>();

  /** Undefined: episodes may run for ever. */
  constructor(clock: Ledger['clock'], limitMs: number | undefined) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  begin(episodeId: string): void {
    if (this.#limitMs !== undefined) this.#begunMs.set(episodeId, this.#clock.read());
  }

  /** The episodes whose time is over, each once; some have ended before. */
  over(): readonly string[] {
    const over: string[] = [];
    const latestMs = this.#clock.read() - (this.#limitMs ?? Infinity);
    for (const [episodeId, begunMs] of this.#begunMs) {
      if (begunMs > latestMs) break;
      this.#begunMs.delete(episodeId);
      over.push(episodeId);
    }
    return over;
  }
}
