import { toErrorMessage } from '@agentjet/core';
import { WireError } from '@agentjet/swarm-wire';
import type { ClientHost } from '../host.js';

/** How long an identical message is suppressed. */
const quietMs = 30_000;
/** Shorter waits for a repeated request are not reported. */
const shortWaitMs = 400;

/** Reports problems to people, once for all affected episodes. */
export class Notices {
  readonly #host: ClientHost;
  readonly #report: (message: string) => void;
  readonly #saidMs = new Map<string, number>();

  constructor(host: ClientHost, report: (message: string) => void) {
    this.#host = host;
    this.#report = report;
  }

  say = (message: string): void => {
    const now = this.#host.now();
    if (now - (this.#saidMs.get(message) ?? -Infinity) < quietMs) return;
    this.#saidMs.set(message, now);
    this.#report(message);
  };

  onRetry = (error: unknown, waitMs: number): void => {
    if (waitMs < shortWaitMs) return;
    const isAnswer = error instanceof WireError;
    this.say(`The server ${isAnswer ? 'asks to wait' : 'cannot be reached'}: ${describe(error)}`);
  };
}

/** Returns the message of an error and of its cause, because fetch itself says only "fetch failed". */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${toErrorMessage(error.cause)})` : '';
  return `${toErrorMessage(error)}${cause}`;
}
