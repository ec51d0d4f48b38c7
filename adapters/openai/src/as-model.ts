import type { ChatModel } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';
import { OpenAI } from 'openai';
import { createInProcessFetch } from './in-process-fetch.js';

/** Node's timers hold no more. The episode has its own time limit. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Sends the `idempotencyKey` of a call, or one of its own, so that the SDK's retries are told from new calls. */
class TunedClient extends OpenAI {
  protected override idempotencyHeader = 'idempotency-key';
}

/**
 * The client of one agent: where its target learns, an OpenAI client whose `chat.completions` is the tuned model
 * (whatever `model` it is asked for); else `debugModel` itself. Retries are off: a repeated call would be a second sample.
 */
export function asOpenAIClient(tuner: Tuner, options: ModelOptions<OpenAI>): OpenAI {
  const toClient = (model: ChatModel): OpenAI => {
    const fetch = createInProcessFetch(model);
    return new TunedClient({
      apiKey: 'in-process',
      baseURL: 'http://agentjet.local/v1',
      fetch,
      maxRetries: 0,
      timeout: longestTimeoutMs,
      organization: null,
      project: null,
    });
  };
  return tuner.selectModel(options, toClient, ['chat.completions.create', 'responses.create']);
}
