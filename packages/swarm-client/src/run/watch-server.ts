import { rejectOnAbort, pause } from '@agentjet/core';
import type { ServerAnswer } from '@agentjet/swarm-wire';
import type { ClientHost } from '../host.js';
import type { SwarmEvent } from './tally.js';

const gapMs = 1000;

/**
 * Calls the listener with each change of the server's state or version, or of the reason why it does not train, until
 * the signal aborts.
 */
export async function watchServer({ host, server, signal, onEvent }: Watch): Promise<void> {
  let seen = '';
  while (!signal.aborted) {
    const found = await rejectOnAbort(server(), signal).catch(() => undefined); // requests of the run report what is wrong
    const key = found === undefined ? seen : newsOf(found);
    if (found !== undefined && key !== seen) onEvent({ type: 'server', server: found });
    seen = key;
    await pause(host, gapMs, signal);
  }
}

function newsOf({ state, version, problem, policies = {} }: ServerAnswer): string {
  return JSON.stringify([state, version, problem, Object.values(policies).map((policy) => policy.problem)]);
}

type Watch = {
  readonly host: ClientHost;
  readonly server: () => Promise<ServerAnswer>;
  readonly signal: AbortSignal;
  readonly onEvent: (event: SwarmEvent) => void;
};
