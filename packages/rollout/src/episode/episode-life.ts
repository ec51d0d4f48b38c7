import { setMaxListeners } from 'node:events';
import inspector from 'node:inspector';
import { EngineError, toErrorMessage, WorkflowError } from '@agentjet/core';
import { describeTimeout, WaitClock } from './wait-clock.js';

/** The life of one episode: it ends when it is closed, runs out of time, is stopped, or loses an error. */
export type EpisodeLife = {
  /** Aborts at every kind of end. The reason names the kind. */
  readonly signal: AbortSignal;
  /** Ends the episode with an error that its own code lost. */
  readonly fail: (error: unknown) => void;
  readonly close: () => void;
  /**
   * Ends an episode without running calls and does not abort its signal. An abort costs more than the rest of the end.
   */
  readonly release: () => void;
};

/** Without `timeoutMs`, the episode lasts until it is closed. */
type LifeOptions = { readonly timeoutMs?: number; readonly timeoutName?: string | undefined };

/** The longest delay of a timer, 24 days. A longer one fires at once. */
const longestMs = 2 ** 31 - 1;
/** `clock` measures how long the episode has waited for its models. */
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
  setMaxListeners(0, controller.signal); // every running call adds a listener
  const end = (reason: unknown): void => controller.abort(reason);
  const stop = (): void => {
    const cause: unknown = signal?.reason;
    const isTold = cause instanceof WorkflowError; // such as the error that gives up a group
    end(isTold ? cause : new WorkflowError('aborted', `Episode "${episodeId}" was stopped with its run.`, { cause }));
  };
  // Time stops at a breakpoint but clocks do not, so there is no limit while a debugger is attached.
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

/**
 * Makes the error without a stack. Each episode ends with this error, its origin says nothing, and a stack costs more
 * than the rest of the end.
 */
function withoutStack<Made>(make: () => Made): Made {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Includes the name of the error if it can be printed. */
function describe(error: unknown): string {
  try {
    return String(error);
  } catch {
    return toErrorMessage(error);
  }
}
