import type { Engine } from './engine.js';

/**
 * One token tree (or forest) that goes through the model in one forward pass: the layout of tree training.
 * Segments stand in depth-first preorder. Query i sees key k iff `k <= i < ends[k]`. Rows are the special case
 * of a forest without branches.
 *
 * Worked example, rows [5,6,7] and [5,6,8] sharing [5,6], last tokens supervised (weight 1/2 each):
 * ```
 * { ids: [5,6,7,8], positions: [0,1,2,2], ends: [4,4,3,4],
 *   predictors: [1,1], targets: [7,8],
 *   terms: { pair: [0,1], sequence: [0,1], weights: [.5,.5], advantages: [1,-1], logprobs: [-.2,-1.6] } }
 * ```
 */
export type TreePack = {
  /** Shape [N]: token ids in preorder. Padding carries id 0, its own `ends` (i + 1) and no term. */
  readonly ids: Int32Array;
  /** Shape [N]: depth in the row; RoPE uses this, never the packed index. */
  readonly positions: Int32Array;
  /** Shape [N]: exclusive end of the subtree of the token's segment. */
  readonly ends: Int32Array;
  /** Shape [M]: packed index whose hidden state predicts; unique together with `targets`. */
  readonly predictors: Int32Array;
  /** Shape [M]: the predicted id. */
  readonly targets: Int32Array;
  readonly terms: LossTerms;
  /** Tokens of the rows before sharing, for metrics. */
  readonly rowTokens: number;
};

/** One entry per supervised token of a row; entries of different rows may share one (predictor, target) pair. */
export type LossTerms = {
  /** Shape [K]: index into predictors/targets. */
  readonly pair: Int32Array;
  /** Shape [K]: which row of the whole step the token belongs to (for sequence-level ratios). */
  readonly sequence: Int32Array;
  /** Shape [K]: weight of the term in the loss; the normalizer over the whole optimizer step is in it. */
  readonly weights: Float32Array;
  /** Shape [K]. */
  readonly advantages: Float32Array;
  /** Shape [K]: behaviour logprobs. */
  readonly logprobs: Float32Array;
  /** Shape [K]: what `Backbone.proximalLogprobs` gave for the terms, in a batch of several optimizer steps. */
  readonly proximal?: Float32Array;
  /** Shape [K]: temperature at which each token was sampled, 0 if greedily; absent if all have the loss's. */
  readonly temperatures?: Float32Array;
  /** The result of `Backbone.keptTokens` for these terms. A batch of several optimizer steps has it if it was sampled with top-p or top-k. */
  readonly kept?: KeptTokens;
};

/** Where top-p and top-k cut the distributions that tokens were drawn from. */
export type Truncation = {
  /** In (0, 1]; 1 keeps all. */
  readonly topP: number;
  /** 0 keeps all. */
  readonly topK: number;
};

/** How tokens were drawn, for the sets of tokens that a sampler keeps. */
export type TruncatedSampling = Truncation & { readonly temperature: number };

/** The truncation of a sampler; undefined if it keeps all tokens. Greedy answers are never cut. `topK`: -1 or 0 keeps all. */
export function truncationOf({ temperature, topP, topK }: TruncatedSampling): Truncation | undefined {
  return temperature === 0 || (topP >= 1 && topK <= 0) ? undefined : { topP, topK: Math.max(0, topK) };
}

/**
 * Which tokens the sampler kept when it drew the token of each term.
 *
 * Worked example: term 0 was drawn from tokens 3 and 7, term 1 greedily, and term 2 has a token that is not in its set:
 * `{ set: [0, -1, -2], starts: [0, 2], ids: [3, 7] }`.
 */
export type KeptTokens = {
  /** Shape [K]: number of the term's set, or `wholeVocabulary`, or `outsideOfSet`. */
  readonly set: Int32Array;
  /** Shape [S + 1]: set s is ids[starts[s]] to ids[starts[s + 1]] (exclusive). */
  readonly starts: Int32Array;
  /** Ascending within a set. */
  readonly ids: Int32Array;
};

/** In `KeptTokens.set`: nothing was cut, because the token was sampled greedily. */
export const wholeVocabulary = -1;
/** In `KeptTokens.set`: the sampler must have kept the token, but the set that was computed again lacks it. The term is not trained. */
export const outsideOfSet = -2;

/**
 * The loss per term k, with r = exp(logprob - behaviour logprob) and A the advantage; the step's loss is
 * sum_k weight_k * loss_k.
 * - `policy`: -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A) (PPO, Schulman et al. 2017; asymmetric bounds: DAPO, 2025),
 *   with dual clip: min(that, -dualClip * A) where A < 0 (Ye et al. 2020); 0 turns it off.
 *   plus klCoef * KL estimate against the frozen initial weights (Schulman 2020; d = reference - logprob;
 *   k1: -d, k2: d^2 / 2, k3: exp(d) - d - 1),
 *   minus entropyCoef * entropy.
 * - `sft`: -logprob.
 *
 * Training logprobs are taken at the temperature that the token was sampled at: that of `LossTerms.temperatures`, or
 * else of the loss. Those of greedy tokens (0) are taken at 1.
 *
 * With `truncation` the distribution of a term is the softmax over the tokens that the sampler kept, and nothing else: its
 * logprob, its entropy, and the reference's logprob in the KL estimate are all taken over this set. The sets are
 * `LossTerms.kept`, or else those of the weights that the step begins with. A term whose token is outside of its set
 * counts as one of weight 0.
 */
export type LossOptions =
  | {
      readonly kind: 'sft';
      /** 1 unless given. */
      readonly temperature?: number;
    }
  | {
      readonly kind: 'policy';
      readonly clipLow: number;
      readonly clipHigh: number;
      readonly dualClip: number;
      readonly klCoef: number;
      readonly klEstimator: 'k1' | 'k2' | 'k3';
      readonly entropyCoef: number;
      /** Temperature the behaviour logprobs were sampled at; training logprobs are taken at it too. */
      readonly temperature: number;
      /** How tokens were sampled, if top-p or top-k cut anything. */
      readonly truncation?: Truncation;
    };

/**
 * An algorithm's own loss, as its derivative: shape [K], dLoss_k / dlogprob_k for each term, without the term's
 * weight. Backbones run it in two passes: forward for the logprobs, then a cross entropy whose coefficient on each
 * token is -weight * slope, which has the same gradient.
 *
 * Worked example, the policy gradient without clipping, -ratio * advantage:
 * ```
 * (terms) => terms.logprobs.map((logprob, k) => -Math.exp(logprob - terms.behaviour[k]) * terms.advantages[k])
 * ```
 */
export type LossSlope = (terms: SlopeTerms) => Float64Array | Float32Array | readonly number[];

/** The loss that has this slope. A step reports sum_k weight_k * slope_k * logprob_k as its loss, and no clipping. */
export type SlopeLoss = {
  readonly kind: 'slope';
  readonly slope: LossSlope;
  readonly temperature: number;
  readonly truncation?: Truncation;
};

/** What a slope is computed from: the terms of all packs of one optimizer step, in order. Shape [K] each. */
export type SlopeTerms = {
  /** Under the weights that are about to be trained, as `LossOptions` says. */
  readonly logprobs: Float64Array;
  /** Under the weights that sampled the token. */
  readonly behaviour: Float64Array;
  readonly advantages: Float64Array;
  readonly weights: Float64Array;
  /** Which row of the step the token belongs to. */
  readonly sequence: Int32Array;
};

/** AdamW (Loshchilov & Hutter 2019), bias-corrected; the decay is taken from the weights: w *= 1 - rate * weightDecay. */
export type OptimizerOptions = {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Global gradient norm limit; 0 turns clipping off. */
  readonly maxGradNorm: number;
  readonly schedule: 'constant' | 'linear' | 'cosine';
  readonly warmupSteps: number;
  /** Length of the schedule in optimizer steps; ignored by `constant`. */
  readonly totalSteps: number;
};

/** Optimizer options of one step alone. `learningRate` is the rate itself: no schedule is applied to it. */
export type OptimizerOverrides = Partial<
  Pick<OptimizerOptions, 'learningRate' | 'beta1' | 'beta2' | 'epsilon' | 'weightDecay' | 'maxGradNorm'>
>;

/** Everything one optimizer step needs. The packs of one batch are accumulated, then one update is made. */
export type TrainBatch = {
  /** For a backbone that takes rows, each is one row without branches. */
  readonly packs: readonly TreePack[];
  readonly loss: LossOptions | SlopeLoss;
  /**
   * True: the present weights sampled every trained token. Then a behaviour logprob that differs from the training one by
   * rounding alone may be taken to equal it, so that the step depends on token ids and advantages and not on the rounding.
   */
  readonly isOnPolicy?: boolean;
  /** What differs from the options that the backbone was opened with, in this step alone. */
  readonly optimizer?: OptimizerOverrides;
  /** Asks for `TrainStepMetrics.terms`. */
  readonly reportTerms?: boolean;
};

/** What a step found at each term of one pack, before the update. Shape [K] each, in the order of the pack's terms. */
export type TermReport = {
  /** Training logprobs, at the token's temperature. */
  readonly logprobs: Float32Array;
  /** Of the distribution that the token was drawn from, nats; null if the backbone does not see distributions. */
  readonly entropies: Float32Array | null;
  /** exp(training logprob - behaviour logprob). */
  readonly ratios: Float32Array;
  /** 1 if the clip took the term's gradient away. */
  readonly clipped: Uint8Array;
};

/** What one optimizer step found and did. */
export type TrainStepMetrics = {
  readonly loss: number;
  /** Before clipping; null if the backbone does not report it. */
  readonly gradNorm: number | null;
  /** Weighted mean per term, nats; null if the backbone does not see whole distributions. */
  readonly entropy: number | null;
  /** Weighted mean of the KL estimate; 0 when klCoef is 0. */
  readonly kl: number;
  /** Share of terms whose ratio was clipped, 0..1. */
  readonly clipFraction: number;
  /** max and mean over terms of |training logprob - behaviour logprob| before the update. */
  readonly logprobGapMax: number;
  readonly logprobGapMean: number;
  readonly learningRate: number;
  /** After the update. */
  readonly policyVersion: number;
  /** Terms of the loss. */
  readonly trainedTokens: number;
  /** Terms that were left out because their token is outside of the set that was computed again. Only a truncated loss has it. */
  readonly tokensOutsideSupport?: number;
  /** Tokens of the rows, and of the trees they were laid out as. */
  readonly rowTokens: number;
  readonly treeTokens: number;
  /** One per pack, if the batch asked for them. */
  readonly terms?: readonly TermReport[];
};

/** What a backbone can do: the loop, the configuration and the case suites ask this instead of its name. */
export type BackboneCapabilities = {
  /** `packs`: token trees. `rows`: every pack of a batch must be one row. */
  readonly takes: 'packs' | 'rows';
  /**
   * The same request with the same seed gives the same tokens, also among other calls, and the same batch gives the same weights, to the
   * last bit, as long as `Backbone.arithmetic` is the same. So the same run gives the same metrics on-policy. The last digits of a sampled
   * logprob may depend on other calls, and off-policy the loss reads them.
   */
  readonly repeatsSeed: boolean;
  readonly reportsGradNorm: boolean;
  /** What a loss may hold: `kl` and `entropy` are a policy loss with that coefficient above 0. */
  readonly losses: readonly ('sft' | 'policy' | 'kl' | 'entropy' | 'slope')[];
  /** `onToken` hears each token as it is sampled; otherwise all of them at the end. */
  readonly streams: boolean;
  /** Whether it trains tokens that were sampled at a temperature other than 1; true unless given. */
  readonly trainsTemperatures?: boolean;
  /** Whether it trains tokens that were sampled with top-p or top-k, over what the sampler kept; false unless given. */
  readonly trainsTruncation?: boolean;
};

/** Where the model of a remote backbone is. */
export type ModelHandle = {
  /** Local folder with config.json and the tokenizer's files. */
  readonly tokenizerDir: string;
  /** The weights, as their owner names them, such as `tinker://run-17/weights/0003`. */
  readonly weights: string;
};

/** Shape [T], T >= 1. */
export type TokenRow = { readonly ids: Int32Array };

/**
 * An engine whose weights can be trained. Model folders are the Hugging Face layout, in and out.
 * Errors are BackboneError.
 */
export interface Backbone {
  readonly engine: Engine;
  readonly capabilities: BackboneCapabilities;
  /** Folder with config.json, tokenizer.json, tokenizer_config.json and weights it was loaded from, or a handle if the weights are elsewhere. */
  readonly modelDir: string | ModelHandle;
  readonly policyVersion: number;
  /** What the last digits depend on in addition to the inputs, such as `2 threads, AMD EPYC 9654`. Default: nothing. */
  readonly arithmetic?: string;
  /**
   * One optimizer step; the engine samples from the new weights afterwards. Rejects, with the weights unchanged, with `bad_batch`
   * (a malformed pack, no supervised token, or a slope that is not a finite number), `non_finite_gradient` or `aborted`.
   */
  trainStep(batch: TrainBatch, options?: { readonly signal?: AbortSignal }): Promise<TrainStepMetrics>;
  /** Shape per row [T]: logprob of ids[t] given ids[0..t) at temperature 1; entry 0 is 0. */
  logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]>;
  /**
   * Shape per pack [K]: logprob of each term's token under the present weights, at its own temperature or else this one. Only backbones have it whose
   * loss takes its ratio against the weights that a batch began with instead of those that sampled it (decoupled PPO, Hilton et
   * al. 2022). Asked before the first of several optimizer steps on a batch.
   */
  proximalLogprobs?(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]>;
  /**
   * One per pack: what a sampler with the present weights keeps at each term. A backbone that trains truncation has it. Asked
   * before the first of several optimizer steps on a batch, since the sets stay those of the weights that sampled.
   */
  keptTokens?(packs: readonly TreePack[], sampling: TruncatedSampling): Promise<readonly KeptTokens[]>;
  /** Writes a Hugging Face model folder, plus `trainer_state/` (optimizer moments, step, policy version) that `load` resumes from. */
  save(dir: string): Promise<void>;
  /** Restores weights and optimizer state that `save` wrote. */
  load(dir: string): Promise<void>;
  close(): Promise<void>;
}
