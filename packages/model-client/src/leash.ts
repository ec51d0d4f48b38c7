import { setMaxListeners } from 'node:events';

/** The time limit of a request: for the whole request, or for a silence. */
export type TimeLimit = { readonly ms: number; readonly of: 'request' | 'silence' };

/** Aborts a request when its time limit is reached or its caller's signal aborts. */
export class Leash {
  readonly #controller = new AbortController();
  readonly #limit: TimeLimit;
  readonly #release: () => void;
  #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(limit: TimeLimit, signal: AbortSignal) {
    this.#limit = limit;
    // AbortSignal.any is not used, because a run's signal exists for a long time, and old versions of Node keep every
    // signal that depends on it.
    const onAbort = (): void => this.#controller.abort(signal.reason);
    setMaxListeners(0, signal); // one caller may have many concurrent calls
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#release = () => signal.removeEventListener('abort', onAbort);
    this.#timer = this.#begin();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the request was abandoned. Undefined if it was not. */
  get complaint(): string | undefined {
    return this.#isOver ? `no answer in ${this.#limit.ms / 1000} s` : undefined;
  }

  /** Called when a part of the answer arrives. */
  renew(): void {
    if (this.#limit.of !== 'silence') return;
    clearTimeout(this.#timer);
    this.#timer = this.#begin();
  }

  /** Stops the timer and the listener. Also aborts the request if a part of its answer was not read. */
  end(): void {
    clearTimeout(this.#timer);
    this.#release();
    this.#controller.abort(new Error('The request has ended.'));
  }

  #begin(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#isOver = true;
      this.#controller.abort(new Error(this.complaint));
    }, this.#limit.ms);
  }
}
