import {
  abortedByCaller,
  EngineError,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
} from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import { fromSentError } from './sent-error.js';
import type { FromProcess, ToProcess } from './messages.js';

type Waiting = {
  readonly options: ChatOptions;
  readonly resolve: (response: ChatResponse) => void;
  readonly reject: (error: unknown) => void;
};

/** The model calls of a process. The run answers each of them. */
export class SentCalls {
  readonly #send: (message: FromProcess) => void;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #models = 0;

  constructor(send: (message: FromProcess) => void) {
    this.#send = send;
  }

  /** The tuned model of one agent in an episode. It has the same errors, streams and aborts as in the run. */
  createModel(episodeId: string, agent: AgentIdentity): ChatModel {
    const model = this.#models++;
    return {
      name: 'agentjet',
      generate: (request, options = {}) => this.#ask({ episodeId, agent, model, request }, options),
    };
  }

  receive(message: Extract<ToProcess, { readonly call: number }>): void {
    const waiting = this.#waiting.get(message.call);
    if (waiting === undefined) return; // aborted meanwhile
    const { options, resolve, reject } = waiting;
    if (message.type === 'delta' || message.type === 'tokens') return this.#stream(message, waiting);
    this.#waiting.delete(message.call);
    if (message.type === 'answer') resolve(message.response);
    else reject(options.signal?.aborted === true ? abortedByCaller(options.signal) : fromSentError(message.error));
  }

  /** Passes a piece of an answer to its listener. If the listener throws, its call ends, as in the run. */
  #stream(message: Extract<ToProcess, { type: 'delta' | 'tokens' }>, { options, reject }: Waiting): void {
    try {
      if (message.type === 'delta') options.onDelta?.(message.delta);
      else options.onTokens?.(message.tokens);
    } catch (error) {
      this.#waiting.delete(message.call);
      this.#send({ type: 'abort', call: message.call });
      reject(error);
    }
  }

  #ask(asked: Asked, options: ChatOptions): Promise<ChatResponse> {
    const { signal } = options;
    if (signal?.aborted === true) return Promise.reject(abortedByCaller(signal));
    const call = this.#calls++;
    const onAbort = (): void => this.#send({ type: 'abort', call });
    signal?.addEventListener('abort', onAbort, { once: true });
    return new Promise<ChatResponse>((resolve, reject) => {
      this.#waiting.set(call, { options, resolve, reject });
      const wanted = { isStreamed: options.onDelta !== undefined, wantsTokens: options.onTokens !== undefined };
      try {
        this.#send({ type: 'call', call, ...asked, ...wanted });
      } catch (error) {
        this.#waiting.delete(call);
        reject(
          new EngineError('bad_request', `A request cannot be sent to the run: ${String(error)}`, { cause: error }),
        );
      }
    }).finally(() => signal?.removeEventListener('abort', onAbort));
  }
}

type Asked = {
  readonly episodeId: string;
  readonly agent: AgentIdentity;
  readonly model: number;
  readonly request: ChatRequest;
};
