import { createInProcessFetch } from '@agentjet/chat-completions/in-process';
import { Anthropic, type ClientOptions } from '@anthropic-ai/sdk';
import type { ChatModel } from '@agentjet/core';
import { messagesApi } from '@agentjet/messages';
import type { ModelOptions, Tuner } from '@agentjet/rollout';

/** The longest delay of Node's timers. The episode has its own time limit. */
const longestTimeoutMs = 2 ** 31 - 1;

/** A client whose tool runner sends the whole conversation each time, because no server keeps it. */
class TunedClient extends Anthropic {
  constructor(options: ClientOptions) {
    super(options);
    Object.assign(this, { _supportsMessageThreads: false });
  }
}

/**
 * Returns the client of one agent. If its target learns, the client's `messages` and `beta.messages` are the tuned
 * model, for any `model` name. Otherwise the client is `debugModel` itself. Retries are off, because a repeated call
 * would be a second sample.
 */
export function asAnthropicClient(tuner: Tuner, options: ModelOptions<Anthropic>): Anthropic {
  const toClient = (model: ChatModel): Anthropic =>
    new TunedClient({
      apiKey: 'in-process',
      baseURL: 'http://agentjet.local',
      fetch: createInProcessFetch(model, { api: messagesApi, advice: 'Use messages or beta.messages.' }),
      maxRetries: 0,
      timeout: longestTimeoutMs,
    });
  return tuner.selectModel(options, toClient, ['messages.create', 'beta.messages.create']);
}
