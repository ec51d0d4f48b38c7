import { setMaxListeners } from 'node:events';
import inspector from 'node:inspector';
import { EngineError, toErrorMessage, WorkflowError } from '@agentjet/core';
import { userFrames } from '../user-frames.js';
import { describeTimeout, WaitClock } from './wait-clock.js';

/**
 * The time from the beginning of an episode to its end. The episode ends when it is closed, runs out of time, is
 * stopped, or does not catch an error in a timer or a promise.
 */
export type EpisodeLife = {
  /** Aborts when the episode ends. Its reason says why. */
  readonly signal: AbortSignal;
  /** Ends the episode with an error that its code did not catch. */
  readonly fail: (error: unknown) => void;
  /** Runs the work. The workflow has returned, so an error that is lost meanwhile ends nothing, and is a warning. */
  readonly afterReturn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly close: () => void;
  /**
   * Ends an episode that has no running calls. It does not abort the signal, because an abort takes longer than all
   * other work at the end.
   */
  readonly release: () => void;
};

/** Without `timeoutMs`, the episode lasts until it is closed. */
type LifeOptions = { readonly timeoutMs?: number; readonly timeoutName?: string | undefined };

/** The longest delay of a timer, 24 days. A timer with a longer delay fires at once. */
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
    const isTold = cause instanceof WorkflowError; // such as the error for a group that was given up
    end(isTold ? cause : new WorkflowError('aborted', `Episode "${episodeId}" was stopped with its run.`, { cause }));
  };
  // There is no time limit while a debugger is attached, because the clock continues at a breakpoint.
  const expire = (): void => {
    if (inspector.url() === undefined)
      end(new WorkflowError('timeout', describeTimeout(timeoutMs ?? 0, timeoutName, clock.read())));
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, longestMs));
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  let isReleased = false;
  let hasReturned = false;
  const letGo = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  };
  return {
    signal: controller.signal,
    fail: (error) => {
      if (controller.signal.aborted || hasReturned)
        process.emitWarning(
          `Episode "${episodeId}" lost an error after it had ended: ${describe(error).replace(/\.$/, '')}. Is an await missing?${placeOf(error)}`,
        );
      else end(error);
    },
    afterReturn: async (work) => {
      hasReturned = true;
      try {
        return await work();
      } finally {
        hasReturned = false;
      }
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
 * Makes the error without a stack. Every episode ends with this error, so its stack is useless, and collecting a stack
 * takes longer than all other work at the end.
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

/** The user's innermost line of an error's stack. */
function placeOf(error: unknown): string {
  const [frame] = error instanceof Error ? userFrames(error.stack) : [];
  return frame === undefined ? '' : ` It was thrown ${frame.trim()}`;
}

/** Describes an error, with its name if it can be printed. */
function describe(error: unknown): string {
  try {
    return String(error);
  } catch {
    return toErrorMessage(error);
  }
}
