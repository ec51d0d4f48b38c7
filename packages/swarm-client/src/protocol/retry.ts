import { ConfigError, pause } from '@agentjet/core';
import { WireError } from '@agentjet/swarm-wire';
import type { ClientHost } from '../host.js';

/**
 * Repeats a request with the same ids until the server gives a final answer, however long the server is away. Gaps grow
 * to a limit and vary at random. The loop stops early only if the signal aborts. Use it for the swarm's own
 * protocol, whose errors say whether they are final, and not for OpenAI's APIs.
 */
export async function retry<Answer>(
  host: ClientHost,
  request: () => Promise<Answer>,
  { signal, firstGapMs = 100, maxGapMs = 5000, isFinal = isRefusal, onRetry }: RetryOptions = {},
): Promise<Answer> {
  for (let gapMs = firstGapMs; ; gapMs = Math.min(gapMs * 2, maxGapMs)) {
    try {
      return await request();
    } catch (error) {
      if (signal?.aborted === true || isFinal(error)) throw error;
      const waitMs = Math.max(askedGapOf(error), gapMs * (0.5 + host.random() / 2));
      onRetry?.(error, waitMs);
      await pause(host, waitMs, signal);
    }
  }
}

/** How often and how long a request is repeated. Times are in milliseconds. */
export type RetryOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly firstGapMs?: number;
  readonly maxGapMs?: number;
  /** Whether another try cannot change the answer. Default: true for a refusal of the server. */
  readonly isFinal?: ((error: unknown) => boolean) | undefined;
  /** Called before each wait. */
  readonly onRetry?: ((error: unknown, waitMs: number) => void) | undefined;
};

/** How long the server asked to wait. */
function askedGapOf(error: unknown): number {
  const asked = error instanceof Error && 'retryAfterMs' in error ? error.retryAfterMs : undefined;
  return typeof asked === 'number' ? asked : 0;
}

/**
 * Recognizes a refusal that another try cannot change. If the client's name is taken, another try may succeed: the name
 * becomes free once the earlier process is silent.
 */
function isRefusal(error: unknown): boolean {
  if (error instanceof ConfigError) return true;
  if (!(error instanceof WireError)) return false; // the connection failed
  return error.status < 500 && error.status !== 429 && error.status !== 408 && error.retryAfterMs === undefined;
}
