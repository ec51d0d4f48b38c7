import { EngineError, EnvironmentOutage, JudgeError, Outage, toErrorMessage } from '@agentjet/core';
import { failedHostOf, isConnectionFailure } from './connection-failure.js';
import { debugModelOf } from './debug-model-errors.js';
import { errorChain } from './readable-error.js';

/**
 * Decides from the failed call whether an outage or the agent caused a failure. An outage never becomes a reward.
 * Instead, another attempt is made. Three kinds of failures are the agent's: it reached a limit, its request was
 * refused as wrong, or a tool returned an error.
 */
export type OutageCause = {
  readonly source: 'debug_model' | 'judge' | 'engine' | 'environment' | 'connection' | 'workflow';
  /**
   * The host that the error names, or otherwise the source of the outage. For a debug model, the source includes the
   * agent's name.
   */
  readonly host: string;
  /** The innermost message, which usually says the most. */
  readonly message: string;
};

/** HTTP statuses which mean that the request itself was wrong: bad request, too large, not processable. */
const refusals: ReadonlySet<unknown> = new Set([400, 413, 422]);

function statusOf(error: object): number | undefined {
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  return [status, statusCode].find((value): value is number => typeof value === 'number' && value >= 100);
}

function isAbort(error: object): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name === 'AbortError' || name === 'APIUserAbortError' || code === 'aborted' || code === 'closed';
}

/** True for a call that was aborted and for a call after the end of its episode. */
export function isAborted(thrown: unknown): boolean {
  return errorChain(thrown).some(isAbort);
}

function sourceOf(outage: Outage, chain: readonly object[]): OutageCause['source'] {
  if (outage instanceof EnvironmentOutage) return 'environment';
  return chain.some((error) => error instanceof JudgeError) ? 'judge' : 'workflow';
}

/** Returns the cause of the outage. Returns undefined if the agent caused the failure. */
export function outageOf(thrown: unknown): OutageCause | undefined {
  const chain = errorChain(thrown);
  const innermost = chain.at(-1) ?? {};
  const found = (source: OutageCause['source'], name: string = source): OutageCause => ({
    source,
    host: chain.map(failedHostOf).find((host) => host !== undefined) ?? name,
    message: toErrorMessage(innermost instanceof Error ? innermost : thrown),
  });

  const thrownOutage = chain.find((error) => error instanceof Outage);
  if (thrownOutage instanceof Outage) {
    const source = sourceOf(thrownOutage, chain);
    return { source, host: thrownOutage.host ?? source, message: thrownOutage.message };
  }
  if (chain.some((error) => error instanceof EngineError && error.code === 'failed')) return found('engine');
  if (chain.some(isAbort)) return undefined;

  const statuses = chain.map(statusOf).filter((status) => status !== undefined);
  const agentName = chain.map(debugModelOf).find((name) => name !== undefined);
  if (agentName !== undefined)
    return statuses.some((status) => refusals.has(status))
      ? undefined
      : found('debug_model', `debug model of ${agentName}`);
  const isConnection = chain.some(isConnectionFailure);
  if (chain.some((error) => error instanceof JudgeError))
    return isConnection || statuses.some((status) => !refusals.has(status) && status >= 400)
      ? found('judge')
      : undefined;
  return isConnection ? found('connection') : undefined;
}
