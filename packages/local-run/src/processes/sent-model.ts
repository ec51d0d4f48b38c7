import {
  abortedByCaller,
  AgentJetError,
  EngineError,
  rejectOnAbort,
  type ChatOptions,
  type ChatResponse,
  type CountingChatModel,
} from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { AskedModel, Piece, RunFunctions } from './functions.js';

type Run = Pick<RunFunctions, 'generate' | 'countPromptTokens' | 'abort'>;

/** The model calls of a process. The run answers each of them. */
export class SentCalls {
  readonly #run: Run;
  /** Takes the pieces of each running call. */
  readonly #listeners = new Map<number, (piece: Piece) => void>();
  #calls = 0;
  #models = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The tuned model of one agent in an episode. It has the same errors, streams and aborts as in the run. */
  createModel(episodeId: string, agent: AgentIdentity): CountingChatModel {
    const model = this.#models++;
    return {
      name: 'agentjet',
      generate: (request, options = {}) => this.#ask({ episodeId, agent, model, request }, options),
      countPromptTokens: (request) =>
        this.#run.countPromptTokens({ episodeId, agent, model, request }).catch((error: unknown) => {
          throw toCallError(error);
        }),
    };
  }

  stream(call: number, piece: Piece): void {
    this.#listeners.get(call)?.(piece);
  }

  async #ask(asked: AskedModel, options: ChatOptions): Promise<ChatResponse> {
    const { signal, onDelta, onTokens } = options;
    if (signal?.aborted === true) throw abortedByCaller(signal);
    const call = this.#calls++;
    const abort = (): void => this.#run.abort(call);
    const broken = new AbortController();
    this.#listeners.set(call, (piece) => {
      try {
        if ('delta' in piece) onDelta?.(piece.delta);
        else onTokens?.(piece.tokens);
      } catch (error) {
        broken.abort(error); // if a listener throws, its call ends, as in the run
        abort();
      }
    });
    signal?.addEventListener('abort', abort, { once: true });
    const wanted = { isStreamed: onDelta !== undefined, wantsTokens: onTokens !== undefined };
    const answer = this.#run.generate({ call, ...asked, ...wanted }).catch((error: unknown) => {
      throw signal?.aborted === true ? abortedByCaller(signal) : toCallError(error);
    });
    return rejectOnAbort(answer, broken.signal).finally(() => {
      this.#listeners.delete(call);
      signal?.removeEventListener('abort', abort);
    });
  }
}

/** The run rejects with errors of AgentJet only. Any other error means that the request was not sent. */
function toCallError(error: unknown): AgentJetError {
  if (error instanceof AgentJetError) return error;
  return new EngineError('bad_request', `A request cannot be sent to the run: ${String(error)}`, { cause: error });
}
