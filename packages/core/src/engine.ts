/** Token ids: what samplers and trainers speak. Nothing here knows text, messages or agents. */

/** Resolved sampling parameters. Every field is set. */
export type TokenSampling = {
  /** 0 means greedy. */
  readonly temperature: number;
  /** In (0, 1]; 1 keeps all. */
  readonly topP: number;
  /** 0 keeps all. */
  readonly topK: number;
  readonly maxTokens: number;
  /** Ids that end the completion; the id that ended it is its last id and is trained. */
  readonly stopIds: readonly number[];
  /** The same seed, prompt and weights give the same tokens, whatever else runs beside it. */
  readonly seed: number;
};

export type GenerateRequest = {
  /** Shape [P], P >= 1. */
  readonly promptIds: Int32Array;
  readonly sampling: TokenSampling;
  /** Calls of one episode share the beginnings of their prompts: an engine with several samplers answers them with one. */
  readonly episodeId?: string;
  /** Aborting frees the slot; the promise rejects with an EngineError of code `aborted`. */
  readonly signal?: AbortSignal;
  /**
   * Called for each token in order. Returning 'stop' ends the completion with that very token and finish
   * reason `stop`; anything the engine has sampled beyond it is discarded.
   */
  readonly onToken?: (id: number, logprob: number) => 'stop' | undefined;
};

export type Completion = {
  /** Shape [G]: the sampled ids, the stop id included, nothing that was not sampled. */
  readonly ids: Int32Array;
  /**
   * Shape [G], natural log. Of each sampled token under the distribution it was sampled from: after
   * temperature, top-k and top-p renormalisation. With temperature 0 (greedy): of the plain softmax at temperature 1.
   */
  readonly logprobs: Float32Array;
  readonly finishReason: 'stop' | 'length';
  /** Version of the weights that sampled it; +1 per optimizer step. */
  readonly policyVersion: number;
  /** Where the time went, if the engine measures it. */
  readonly timing?: CompletionTiming;
};

/** Milliseconds of one call. Their sum is what the engine had it for. */
export type CompletionTiming = {
  /** Until its prompt began to be read. */
  readonly queuedMs: number;
  /** Until its first token. */
  readonly prefillMs: number;
  /** From the first token to the last. */
  readonly decodeMs: number;
};

/** Token ids in, token ids out. Calls are concurrent. */
export interface Engine {
  /** Limit of prompt plus completion, in tokens. */
  readonly contextLength: number;
  /** Rejects with EngineError: `context_overflow` (prompt too long, this caller alone), `aborted`, `closed`, `failed`. */
  generate(request: GenerateRequest): Promise<Completion>;
}
