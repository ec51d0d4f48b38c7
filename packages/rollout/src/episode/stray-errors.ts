import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Catches errors that a workflow loses: in a promise that nobody awaits, or in a timer that throws. Node would end the
 * process. Here the error fails the episode whose code lost it. An error may appear after its episode has ended, so the
 * listeners are never removed. An error from any other code ends the process as usual. `process.exit()` in a workflow
 * also ends the process, but with a message. A program can prevent this with `failEpisodesThatExit`.
 */
type OnStray = (error: unknown) => void;

const current = new AsyncLocalStorage<OnStray>();
let isListening = false;

/** Runs `work` and passes the errors that it does not catch, now or later, to `onStray`. */
export function catchStrayErrors<T>(onStray: OnStray, work: () => T): T {
  if (!isListening) {
    isListening = true;
    process.on('unhandledRejection', onRejection);
    process.on('uncaughtException', onException);
    process.on('exit', onExit);
  }
  return current.run(onStray, work);
}

/** Returns the error handler of the episode whose code is running. Undefined outside of all episodes. */
export function currentStrayTaker(): OnStray | undefined {
  return current.getStore();
}

/** Prints an error if a workflow ends the process, because this must not look like a successful run. */
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
