import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Errors that a workflow loses: a promise nobody awaits, a timer that throws. Node would end the process; here they
 * belong to the episode whose code lost them, even when they surface after it has ended (so the listeners, once on,
 * stay). All other errors end the process as they would have without us.
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
  }
  return current.run(onStray, work);
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
