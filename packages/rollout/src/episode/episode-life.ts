import { setMaxListeners } from 'node:events';
import inspector from 'node:inspector';
import { EngineError, toErrorMessage, WorkflowError } from '@agentjet/core';
import { describeTimeout, WaitClock } from './wait-clock.js';

/** How long one episode lasts: until it is closed, runs out of time, is stopped, or loses an error. */
export type EpisodeLife = {
  /** Aborts at the end, whichever it is; the reason says which. */
  readonly signal: AbortSignal;
  /** Ends the episode with an error that its own code lost. */
  readonly fail: (error: unknown) => void;
  readonly close: () => void;
  /** Ends an episode of which nothing is under way, and leaves its signal as it is: to abort it costs more than the rest of an end. */
  readonly release: () => void;
};

/** Without a time limit it lasts until it is closed. */
type LifeOptions = { readonly timeoutMs?: number; readonly timeoutName?: string | undefined };

/** The most that timers hold, 24 days; they fire at once beyond it. */
const longestMs = 2 ** 31 - 1;
/** `clock`: how long the episode has waited for its models. */
type LifeIdentity = {
  readonly episodeId: string;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: WaitClock;
};

export function openLife(
  { timeoutMs, timeoutName = 'rollout.episode_timeout' }: LifeOptions,
  { episodeId, signal, clock = new WaitClock() }: LifeIdentity,
): EpisodeLife {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // one for each call that runs
  const end = (reason: unknown): void => controller.abort(reason);
  const stop = (): void => {
    const cause: unknown = signal?.reason;
    const isTold = cause instanceof WorkflowError; // that a group is given up, for one
    end(isTold ? cause : new WorkflowError('aborted', `Episode "${episodeId}" was stopped with its run.`, { cause }));
  };
  // Time stands still at a breakpoint, but clocks do not: with a debugger there is no limit.
  const expire = (): void => {
    if (inspector.url() === undefined)
      end(new WorkflowError('timeout', describeTimeout(timeoutMs ?? 0, timeoutName, clock.read())));
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, longestMs));
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  let isReleased = false;
  const letGo = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  };
  return {
    signal: controller.signal,
    fail: (error) => {
      if (controller.signal.aborted)
        process.emitWarning(`Episode "${episodeId}" lost an error after it had ended: ${describe(error)}`);
      else end(error);
    },
    release: () => {
      isReleased = true;
      letGo();
    },
    close: () => {
      letGo();
      if (!isReleased && !controller.signal.aborted)
        end(withoutStack(() => new EngineError('closed', `Episode "${episodeId}" has ended.`)));
    },
  };
}

/** Each episode ends with this error, where it was made says nothing, and a stack costs more than the rest of the end. */
function withoutStack<Made>(make: () => Made): Made {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** With its name, if it can be printed at all. */
function describe(error: unknown): string {
  try {
    return String(error);
  } catch {
    return toErrorMessage(error);
  }
}
