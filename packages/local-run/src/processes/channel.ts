import type { Serializable } from 'node:child_process';
import { createBirpc, type BirpcReturn } from 'birpc';
import { fromSentError, toSentError, type SentError } from './sent-error.js';

/** `process` in a child process, and the child process in its parent. */
type Port = {
  readonly connected: boolean;
  readonly send?: ((message: Serializable, done: () => void) => unknown) | undefined;
  readonly on: (event: 'message', listener: (message: unknown) => void) => unknown;
};

/**
 * Connects two processes. The result calls the functions of the other process. Values are structured clones, so a
 * workflow gets the same values as in the run, and errors keep their class and code. If the other process has ended,
 * its functions never answer.
 */
export function openChannel<Theirs extends object, Ours extends object>(
  port: Port,
  ours: Ours,
): BirpcReturn<Theirs, Ours> {
  return createBirpc<Theirs, Ours>(ours, {
    bind: 'functions',
    timeout: -1,
    on: (listener) => void port.on('message', listener),
    post: (message) => {
      if (port.connected) port.send?.(message, () => undefined);
    },
    serialize: (message: { readonly e?: unknown }) =>
      message.e === undefined ? message : { ...message, e: toSentError(message.e) },
    deserialize: (message: { readonly e?: SentError }) =>
      message.e === undefined ? message : { ...message, e: fromSentError(message.e) },
  });
}
