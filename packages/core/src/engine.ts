/** The contract of samplers, in token ids. It contains nothing about text, messages or agents. */

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
  /** The same seed, prompt and weights give the same tokens, independently of other calls. */
  readonly seed: number;
};

export type GenerateRequest = {
  /** Shape [P], P >= 1. */
  readonly promptIds: Int32Array;
  readonly sampling: TokenSampling;
  /** Calls of one episode share the beginnings of their prompts, so an engine with several samplers sends them to the same one. */
  readonly episodeId?: string;
  /** Aborting frees the slot, and the promise rejects with an EngineError of code `aborted`. */
  readonly signal?: AbortSignal;
  /**
   * Called for each token in order. If it returns 'stop', the completion ends with that token and finish reason `stop`;
   * tokens that the engine has sampled after it are discarded.
   */
  readonly onToken?: (id: number, logprob: number) => 'stop' | undefined;
};

export type Completion = {
  /** Shape [G]: the sampled ids, including the stop id. Tokens that were not sampled are not in it. */
  readonly ids: Int32Array;
  /**
   * Shape [G]: the natural logarithm of each sampled token's probability under the distribution it was sampled from, after
   * temperature, top-k and top-p renormalisation. With temperature 0 (greedy) it is that of the plain softmax at temperature 1.
   */
  readonly logprobs: Float32Array;
  readonly finishReason: 'stop' | 'length';
  /** Version of the weights that sampled it. It grows by 1 per optimizer step. */
  readonly policyVersion: number;
  /** Present if the engine measures time. */
  readonly timing?: CompletionTiming;
};

/** Milliseconds of one call. Their sum is the time that the engine spent on the call. */
export type CompletionTiming = {
  /** Until the engine begins to read the prompt. */
  readonly queuedMs: number;
  /** Until the first token. */
  readonly prefillMs: number;
  /** From the first token to the last. */
  readonly decodeMs: number;
};

/** Takes token ids and returns token ids. Calls may overlap. */
export interface Engine {
  /** Limit of prompt plus completion, in tokens. */
  readonly contextLength: number;
  /** Rejects with EngineError: `context_overflow` (the prompt is too long; other calls are not affected), `aborted`, `closed`, `failed`. */
  generate(request: GenerateRequest): Promise<Completion>;
}
