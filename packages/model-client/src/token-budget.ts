import type { ModelHost } from './host.js';

const windowMs = 60_000;

/** Keeps the tokens of any minute under a limit. A question that exceeds the limit is sent alone. */
export class TokenBudget {
  readonly #limit: number;
  readonly #host: ModelHost;
  #spent: { readonly at: number; tokens: number }[] = [];

  constructor(limit: number, host: ModelHost) {
    this.#limit = limit;
    this.#host = host;
  }

  /** Waits until the tokens fit, and counts them. Call the returned function with the true count once it is known. */
  async take(tokens: number, signal: AbortSignal): Promise<(tokens: number) => void> {
    for (;;) {
      const now = this.#host.now();
      this.#spent = this.#spent.filter(({ at }) => at > now - windowMs);
      const total = this.#spent.reduce((sum, entry) => sum + entry.tokens, 0);
      const oldest = this.#spent[0];
      if (oldest === undefined || total + tokens <= this.#limit) {
        const entry = { at: now, tokens };
        this.#spent.push(entry);
        return (used) => {
          entry.tokens = used;
        };
      }
      await this.#host.sleep(oldest.at + windowMs - now, signal);
    }
  }
}
