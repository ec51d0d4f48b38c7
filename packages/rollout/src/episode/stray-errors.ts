import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Errors that a workflow loses: a promise nobody awaits, a timer that throws. Node would end the process; here they
 * belong to the episode whose code lost them, even when they surface after it has ended (so the listeners, once on,
 * stay). An error that is not a workflow's ends the process as it would have without us. `process.exit()` in a workflow
 * ends the process too, but not silently; a program may guard against it with `failEpisodesThatExit`.
 */
type OnStray = (error: unknown) => void;

const current = new AsyncLocalStorage<OnStray>();
let isListening = false;

/** Runs `work` so that the errors lost in it, now or later, go to `onStray`. */
export function catchStrayErrors<T>(onStray: OnStray, work: () => T): T {
  if (!isListening) {
    isListening = true;
    process.on('unhandledRejection', onRejection);
    process.on('uncaughtException', onException);
    process.on('exit', onExit);
  }
  return current.run(onStray, work);
}

/** What takes the errors of the episode whose code is running; undefined outside of all episodes. */
export function currentStrayTaker(): OnStray | undefined {
  return current.getStore();
}

/** A workflow that ends the process must not look like a run that succeeded. */
function onExit(code: number): void {
  if (current.getStore() === undefined) return;
  console.error(`error: ${sayThatExitEnds(code)} The run has ended with it.`);
  process.exitCode = code === 0 ? 1 : code;
}

export function sayThatExitEnds(code: number | string | null | undefined): string {
  return `The workflow called process.exit(${code ?? ''}), which would end the whole run. Throw an error instead: it fails this episode alone.`;
}

function onRejection(error: unknown): void {
  receive(error, process.listenerCount('unhandledRejection') === 1);
}

function onException(error: unknown): void {
  receive(error, process.listenerCount('uncaughtException') === 1);
}

function receive(error: unknown, isOnlyListener: boolean): void {
  const onStray = current.getStore();
  if (onStray !== undefined) {
    onStray(error);
  } else if (isOnlyListener) {
    process.off('unhandledRejection', onRejection);
    process.off('uncaughtException', onException);
    setImmediate(() => {
      throw error;
    });
  }
}
