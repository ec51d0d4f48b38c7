import { AsyncLocalStorage } from 'node:async_hooks';
import { WorkflowError } from '@agentjet/core';

/**
 * Errors that a workflow loses: a promise nobody awaits, a timer that throws. Node would end the process; here they
 * belong to the episode whose code lost them, even when they surface after it has ended (so the listeners, once on,
 * stay). So does `process.exit()`, with which one episode would end all others and the run. Whatever is not a
 * workflow's ends the process as it would have without us.
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
    guardExit();
  }
  return current.run(onStray, work);
}

function guardExit(): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const onStray = current.getStore();
    if (onStray === undefined) return exit(code);
    const error = new WorkflowError(
      'process_exit',
      `The workflow called process.exit(${code ?? ''}), which would end the whole run. Throw an error instead: it fails this episode alone.`,
    );
    onStray(error);
    throw error;
  };
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
