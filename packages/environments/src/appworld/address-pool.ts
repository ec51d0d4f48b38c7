import { rejectOnAbort } from '@agentjet/core';

/**
 * Addresses of servers with one session each. An address that is given back goes to the end of the list, so that a
 * server that has just failed is not used next.
 */
export class AddressPool {
  readonly #free: string[];
  readonly #waiting = new Set<(address: string) => void>();

  constructor(addresses: readonly string[]) {
    this.#free = [...addresses];
  }

  async take(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const address = this.#free.shift();
    if (address !== undefined) return address;
    let serve: (address: string) => void = () => undefined;
    const turn = new Promise<string>((resolve) => {
      serve = resolve;
    });
    this.#waiting.add(serve);
    try {
      return await rejectOnAbort(turn, signal);
    } catch (error) {
      if (!this.#waiting.delete(serve)) void turn.then((given) => this.give(given));
      throw error;
    }
  }

  give(address: string): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free.push(address);
    else {
      this.#waiting.delete(next);
      next(address);
    }
  }
}
