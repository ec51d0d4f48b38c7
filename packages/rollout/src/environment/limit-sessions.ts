import { rejectOnAbort, type Task } from '@agentjet/core';
import type { Environment, Session } from './environment.js';

/**
 * Limits how many sessions of the environment are open at a time. Further requests wait in the order of their arrival.
 */
export function limitSessions(environment: Environment, maxSessions: number): Environment {
  const seats = new Seats(maxSessions);
  return {
    ...(environment.name !== undefined && { name: environment.name }),
    ...(environment.tasks !== undefined && { tasks: (split: string) => tasksOf(environment, split) }),
    ...(environment.limits !== undefined && { limits: (task: Task) => environment.limits?.(task) ?? {} }),
    close: () => environment.close?.(),
    open: async (task, options) => {
      await seats.take(options.signal);
      try {
        return givingBack(await environment.open(task, options), seats);
      } catch (error) {
        seats.give();
        throw error;
      }
    },
  };
}

function tasksOf(environment: Environment, split: string): ReturnType<NonNullable<Environment['tasks']>> {
  const tasks = environment.tasks?.(split);
  if (tasks === undefined) throw new TypeError('The environment no longer has the method tasks.');
  return tasks;
}

/** Returns the session with a `close` that also frees its seat, even if closing fails. */
function givingBack(session: Session, seats: Seats): Session {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= (async () => session.close())().finally(() => seats.give()));
  return new Proxy(session, {
    get: (target, name) => {
      if (name === 'close') return close;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

class Seats {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    let serve = (): void => undefined;
    const turn = new Promise<void>((resolve) => (serve = resolve));
    this.#waiting.add(serve);
    try {
      await rejectOnAbort(turn, signal);
    } catch (error) {
      if (!this.#waiting.delete(serve)) this.give(); // this request had just been given a seat
      throw error;
    }
  }

  give(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
