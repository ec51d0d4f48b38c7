import { toErrorMessage } from '@agentjet/core';
import { WireError } from '@agentjet/swarm-wire';
import type { ClientHost } from '../host.js';

/** For how long the same words are not said again. */
const quietMs = 30_000;
/** A request that is repeated for less is nobody's news. */
const shortWaitMs = 400;

/** Tells people what goes wrong, once for all the episodes that it happens to. */
export class Notices {
  readonly #host: ClientHost;
  readonly #tell: (message: string) => void;
  readonly #saidMs = new Map<string, number>();

  constructor(host: ClientHost, tell: (message: string) => void) {
    this.#host = host;
    this.#tell = tell;
  }

  say = (message: string): void => {
    const now = this.#host.now();
    if (now - (this.#saidMs.get(message) ?? -Infinity) < quietMs) return;
    this.#saidMs.set(message, now);
    this.#tell(message);
  };

  onRetry = (error: unknown, waitMs: number): void => {
    if (waitMs < shortWaitMs) return;
    const isAnswer = error instanceof WireError;
    this.say(`The server ${isAnswer ? 'asks to wait' : 'cannot be reached'}: ${describe(error)}`);
  };
}

/** fetch says only "fetch failed"; the reason is in its cause. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${toErrorMessage(error.cause)})` : '';
  return `${toErrorMessage(error)}${cause}`;
}
