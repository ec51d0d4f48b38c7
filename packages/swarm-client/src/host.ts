import { performance } from 'node:perf_hooks';

/** Everything that the client's protocol uses from the machine, so a simulation can replace it. */
export type ClientHost = {
  /** The time in milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Runs the action once. The returned function cancels it. */
  readonly after: (ms: number, action: () => void) => () => void;
  /** A random number, uniform in [0, 1). */
  readonly random: () => number;
};

/** The clock, the timers and the randomness of this process. */
export const systemClientHost: ClientHost = {
  now: () => performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Looks up fetch at each call, so a replacement made in the meantime is used. */
export const systemFetch = (url: string, init: RequestInit): Promise<Response> => globalThis.fetch(url, init);

/** Creates a random name. */
export function newId({ random }: Pick<ClientHost, 'random'>): string {
  const part = (): string =>
    Math.floor(random() * 2 ** 48)
      .toString(36)
      .padStart(10, '0');
  return part() + part();
}
