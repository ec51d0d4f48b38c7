import { chatApi } from '@agentjet/chat-completions';
import { createInProcessFetch, type Fetch } from '@agentjet/chat-completions/in-process';
import type { ChatModel } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';
import { OpenAI } from 'openai';
import { joinReasoning } from './join-reasoning.js';

/** The longest delay of Node's timers. The episode has its own time limit. */
const longestTimeoutMs = 2 ** 31 - 1;

/**
 * A client that sends an idempotency key with each call: the caller's `idempotencyKey`, or one that the SDK generates.
 * The key distinguishes the SDK's retries from new calls.
 */
class TunedClient extends OpenAI {
  protected override idempotencyHeader = 'idempotency-key';
}

/**
 * Returns the client of one agent. If its target learns, the client's `chat.completions` is the tuned model, for any
 * `model` name. Otherwise the client is `debugModel` itself. Retries are off, because a repeated call would be a second
 * sample.
 */
export function asOpenAIClient(tuner: Tuner, options: ModelOptions<OpenAI>): OpenAI {
  const toClient = (model: ChatModel): OpenAI =>
    new TunedClient({
      apiKey: 'in-process',
      baseURL: 'http://agentjet.local/v1',
      fetch: createFetch(model),
      maxRetries: 0,
      timeout: longestTimeoutMs,
      organization: null,
      project: null,
    });
  return tuner.selectModel(options, toClient, ['chat.completions.create', 'responses.create']);
}

/** Creates the `fetch` of an OpenAI client whose requests the model answers. */
function createFetch(model: ChatModel): Fetch {
  return createInProcessFetch(model, {
    api: chatApi,
    advice: 'Use chat.completions, or tuner.asOpenAIEndpoint() for the other APIs.',
    // `.stream()` and `.runTools()` set this header.
    adaptListeners: (listeners, headers) => {
      if (!headers.has('x-stainless-helper-method')) return listeners;
      const { push, flush } = joinReasoning(listeners.onDelta);
      return { ...listeners, onDelta: push, flush };
    },
  });
}
