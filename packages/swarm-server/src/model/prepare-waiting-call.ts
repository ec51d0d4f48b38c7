import { isCountingChatModel, type ChatModel, type ChatRequest } from '@agentjet/core';
import type { SwarmContext } from '../swarm/swarm-context.js';

type WaitingCall = {
  readonly policy: string;
  readonly createModel: () => ChatModel;
  readonly request: ChatRequest;
};

/**
 * Renders the prompt of a call that will wait for new weights. The tokenizer keeps the result, so all waiting calls
 * reach the engine soon after the weights are published. Does nothing if the call need not wait. Never rejects, because
 * the call itself reports an invalid prompt.
 */
export async function prepareWaitingCall(
  { policies }: Pick<SwarmContext, 'policies'>,
  { policy: name, createModel, request }: WaitingCall,
): Promise<void> {
  if (!policies.some(({ policy, gate }) => policy === name && !gate.isOpen)) return;
  try {
    const model = createModel();
    if (isCountingChatModel(model)) await model.countPromptTokens(request);
  } catch {
    return; // the call fails in the same way
  }
}
