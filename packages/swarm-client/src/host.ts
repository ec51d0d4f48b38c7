import { performance } from 'node:perf_hooks';

/** Everything the client's protocol takes from the machine, so that a simulation can replace it. */
export type ClientHost = {
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Runs the action once. The returned function cancels it. */
  readonly after: (ms: number, action: () => void) => () => void;
  /** Uniform in [0, 1). */
  readonly random: () => number;
};

export const systemClientHost: ClientHost = {
  now: () => performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Looked up at each call, so that a fetch that was replaced meanwhile is used. */
export const systemFetch = (url: string, init: RequestInit): Promise<Response> => globalThis.fetch(url, init);

/** A random name. */
export function newId({ random }: Pick<ClientHost, 'random'>): string {
  const part = (): string =>
    Math.floor(random() * 2 ** 48)
      .toString(36)
      .padStart(10, '0');
  return part() + part();
}
