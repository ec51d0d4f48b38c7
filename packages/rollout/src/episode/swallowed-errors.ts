import { AgentJetError } from '@agentjet/core';
import { errorChain } from '../outage/error-chain.js';

/** Model calls that failed, and the episode did not fail with them: a tool or a framework has caught the error. */
export type SwallowedError = {
  readonly agentName: string;
  /** Of an error of ours; `failed` for any other. */
  readonly code: string;
  /** What the call threw. */
  readonly message: string;
  /** How many calls of the agent failed so. */
  readonly times: number;
};

export type FailedCall = { readonly agentName: string; readonly message: string; readonly error: unknown };

/** `told`: the error of the episode, which names the calls that it failed with; undefined if it has not failed. */
export function listSwallowed(failures: readonly FailedCall[], told: string | undefined): readonly SwallowedError[] {
  const found = new Map<string, SwallowedError>();
  for (const { agentName, message, error } of failures) {
    if (told?.includes(message) === true) continue;
    const code = codeOf(error);
    const key = JSON.stringify([agentName, code, message]);
    found.set(key, { agentName, code, message, times: (found.get(key)?.times ?? 0) + 1 });
  }
  return [...found.values()];
}

function codeOf(error: unknown): string {
  return errorChain(error).find((each) => each instanceof AgentJetError)?.code ?? 'failed';
}
