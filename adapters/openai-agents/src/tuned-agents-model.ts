import type { ChatModel } from '@agentjet/core';
import { streamChat } from '@agentjet/rollout';
import {
  type Model,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type ModelRetryAdvice,
  type StreamEvent,
  Usage,
} from '@openai/agents';
import { fromModelRequest } from './chat-request.js';
import { toAgentsError } from './errors.js';
import { toAgentItems, toProviderData, toAgentsUsage } from './output-items.js';

/** A model of the OpenAI Agents SDK that calls a ChatModel. It is also a provider that returns itself, for a Runner. */
export class TunedAgentsModel implements Model, ModelProvider {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  getModel(): Model {
    return this;
  }

  /** Advises against retries, because a repeated call would be a second sample. */
  getRetryAdvice(): ModelRetryAdvice {
    return { suggested: false, reason: 'The answers of this model are training data.' };
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    try {
      const { signal } = request;
      const response = await this.#model.generate(fromModelRequest(request), signal === undefined ? {} : { signal });
      return {
        usage: new Usage(toAgentsUsage(response)),
        output: toAgentItems(response),
        responseId: response.id,
        providerData: toProviderData(response),
      };
    } catch (error) {
      throw toAgentsError(error);
    }
  }

  /**
   * Streams text as text deltas. Thinking and tool calls have no event in the SDK, so they are streamed as raw model
   * events.
   */
  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    try {
      const deltas = streamChat(this.#model, fromModelRequest(request), { signal: request.signal });
      yield { type: 'response_started' };
      try {
        let next = await deltas.next();
        for (; next.done !== true; next = await deltas.next()) {
          if (next.value.type === 'content') yield { type: 'output_text_delta', delta: next.value.text };
          else yield { type: 'model', event: next.value };
        }
        const response = next.value;
        yield {
          type: 'response_done',
          response: {
            id: response.id,
            usage: toAgentsUsage(response),
            output: toAgentItems(response),
            providerData: toProviderData(response),
          },
        };
      } finally {
        await deltas.return(undefined as never);
      }
    } catch (error) {
      throw toAgentsError(error);
    }
  }
}
