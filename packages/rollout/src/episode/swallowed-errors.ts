import { AgentJetError } from '@agentjet/core';
import { errorChain } from '../outage/readable-error.js';

/** Model calls that failed while the episode continued, because a tool or a framework caught the error. */
export type SwallowedError = {
  readonly agentName: string;
  /** The code of an AgentJetError, or `failed` for other errors. */
  readonly code: string;
  /** The message of the error. */
  readonly message: string;
  /** How many calls of the agent failed in this way. */
  readonly times: number;
};

export type FailedCall = { readonly agentName: string; readonly message: string; readonly error: unknown };

/**
 * Lists the failed calls that did not cause the episode's error. `episodeError` is the message of that error, and
 * contains the messages of the calls that caused it. It is undefined if the episode did not fail.
 */
export function listSwallowed(
  failures: readonly FailedCall[],
  episodeError: string | undefined,
): readonly SwallowedError[] {
  const found = new Map<string, SwallowedError>();
  for (const { agentName, message, error } of failures) {
    if (episodeError?.includes(message) === true) continue;
    const code = codeOf(error);
    const key = JSON.stringify([agentName, code, message]);
    found.set(key, { agentName, code, message, times: (found.get(key)?.times ?? 0) + 1 });
  }
  return [...found.values()];
}

function codeOf(error: unknown): string {
  return errorChain(error).find((each) => each instanceof AgentJetError)?.code ?? 'failed';
}
