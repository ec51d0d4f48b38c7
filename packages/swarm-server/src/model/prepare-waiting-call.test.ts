import { EngineError, type ChatRequest, type CountingChatModel } from '@agentjet/core';
import { expect, it } from 'vitest';
import { CallGate } from '../swarm/call-gate.js';
import type { SwarmContext } from '../swarm/swarm-context.js';
import { prepareWaitingCall } from './prepare-waiting-call.js';

const request: ChatRequest = { messages: [{ role: 'user', content: 'Go.' }] };

/** Returns the requests that were prepared for a call of `solver`. The gates of the given policies are closed. */
async function preparedWith(closed: readonly string[], error?: Error): Promise<readonly ChatRequest[]> {
  const prepared: ChatRequest[] = [];
  const model: CountingChatModel = {
    name: 'm',
    generate: () => Promise.reject(new Error('It must not be sampled.')),
    countPromptTokens: async (asked) => {
      prepared.push(asked);
      if (error !== undefined) throw error;
      return 1;
    },
  };
  const policies = ['solver', 'critic'].map((policy) => ({ policy, gate: new CallGate(() => 0) }));
  for (const { policy, gate } of policies) if (closed.includes(policy)) await gate.hold('weights');
  await prepareWaitingCall({ policies } as unknown as SwarmContext, {
    policy: 'solver',
    createModel: () => model,
    request,
  });
  return prepared;
}

it('renders the prompt of a call that waits for the weights of its policy', async () => {
  expect(await preparedWith(['solver'])).toEqual([request]);
});

it('leaves a call alone that need not wait', async () => {
  expect(await preparedWith(['critic'])).toEqual([]);
});

it('leaves the report of an invalid prompt to the call itself', async () => {
  const error = new EngineError('bad_request', 'The prompt is empty.');
  expect(await preparedWith(['solver'], error)).toEqual([request]);
});
