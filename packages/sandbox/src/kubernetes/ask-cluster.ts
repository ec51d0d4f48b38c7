import { setTimeout as sleep } from 'node:timers/promises';
import { parseJsonObject, rejectOnAbort, toErrorMessage } from '@agentjet/core';
import { SandboxError } from '../code-runner.js';

/** A failed call of the API server. `code` is its HTTP status, or undefined if it gave no answer. */
export class ClusterError extends SandboxError {
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, options?: ErrorOptions) {
    super('failed', message, options);
    this.status = status;
  }
}

const callSeconds = 30;
const tries = 4;
const pauseMs = 500;

/**
 * Calls the API server. A call that gets no answer, or an answer such as 429 or 500, is repeated, so `call` must be safe to
 * repeat. Throws ClusterError.
 */
export async function askCluster<T>(
  what: string,
  call: () => Promise<T>,
  { signal, attempts = tries }: { readonly signal?: AbortSignal | undefined; readonly attempts?: number } = {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await rejectOnAbort(call(), AbortSignal.timeout(callSeconds * 1000));
    } catch (error) {
      const failure = toClusterError(what, error);
      const isFinal = failure.status !== undefined && failure.status < 500 && failure.status !== 429;
      if (isFinal || attempt >= attempts) throw failure;
      await sleep(pauseMs * attempt);
    }
  }
}

/** Like `askCluster`. Returns null if the API server does not have the object. */
export async function findInCluster<T>(what: string, call: () => Promise<T>): Promise<T | null> {
  try {
    return await askCluster(what, call);
  } catch (error) {
    if (error instanceof ClusterError && error.status === 404) return null;
    throw error;
  }
}

function toClusterError(what: string, error: unknown): ClusterError {
  const { code, body } = error as { readonly code?: unknown; readonly body?: unknown };
  const status = typeof code === 'number' ? code : undefined;
  const said = typeof body === 'string' ? parseJsonObject(body) : (body as { readonly message?: unknown } | undefined);
  const message = typeof said?.['message'] === 'string' ? said['message'] : undefined;
  const isLate = (error as Error | undefined)?.name === 'TimeoutError';
  const why = isLate ? `no answer in ${callSeconds} s` : (message ?? firstLine(toErrorMessage(error)));
  return new ClusterError(`kubernetes cannot ${what}: ${status === undefined ? '' : `${status} `}${why}`, status, {
    cause: error,
  });
}

const firstLine = (text: string): string => text.split('\n')[0] ?? '';
