import type { Engine } from './engine.js';

/**
 * One token tree (or forest) that goes through the model in one forward pass: the layout of tree training.
 * Segments are stored in depth-first preorder. Query i sees key k iff `k <= i < ends[k]`. Rows are a forest without branches.
 *
 * Worked example, rows [5,6,7] and [5,6,8] sharing [5,6], last tokens supervised (weight 1/2 each):
 * ```
 * { ids: [5,6,7,8], positions: [0,1,2,2], ends: [4,4,3,4],
 *   predictors: [1,1], targets: [7,8],
 *   terms: { pair: [0,1], sequence: [0,1], weights: [.5,.5], advantages: [1,-1], logprobs: [-.2,-1.6] } }
 * ```
 */
export type TreePack = {
  /** Shape [N]: token ids in preorder. Padding has id 0, its own `ends` (i + 1) and no term. */
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
  /** Shape [K]: the logprobs under the weights that the batch began with. A loss with a correction has them in a batch of several optimizer steps, and `gspo` without one if these weights sampled the batch. */
  readonly proximal?: Float32Array;
  /** Shape [K]: the temperature at which each token was sampled, 0 if greedily. If absent, all have the temperature of the loss. */
  readonly temperatures?: Float32Array;
  /** The result of `Backbone.keptTokens` for these terms. Only a batch of several steps that was sampled with top-p or top-k has it. */
  readonly kept?: KeptTokens;
};

/** Limits of top-p and top-k, which cut the distributions that tokens were drawn from. */
export type Truncation = {
  /** In (0, 1]; 1 keeps all. */
  readonly topP: number;
  /** 0 keeps all. */
  readonly topK: number;
};

/** Settings that determine which tokens a sampler keeps. */
export type TruncatedSampling = Truncation & { readonly temperature: number };

/** Returns the truncation of a sampler, or undefined if it keeps all tokens. Greedy answers are never cut. `topK`: -1 or 0 keeps all. */
export function truncationOf({ temperature, topP, topK }: TruncatedSampling): Truncation | undefined {
  return temperature === 0 || (topP >= 1 && topK <= 0) ? undefined : { topP, topK: Math.max(0, topK) };
}

/**
 * The tokens that the sampler kept when it drew the token of each term.
 *
 * Worked example: term 0 was drawn from tokens 3 and 7, term 1 greedily, and term 2 has a token that is not in its set:
 * `{ set: [0, -1, -2], starts: [0, 2], ids: [3, 7] }`.
 */
export type KeptTokens = {
  /** Shape [K]: the number of the term's set, or `wholeVocabulary`, or `outsideOfSet`. */
  readonly set: Int32Array;
  /** Shape [S + 1]: set s is ids[starts[s]] to ids[starts[s + 1]] (exclusive). */
  readonly starts: Int32Array;
  /** Ascending within a set. */
  readonly ids: Int32Array;
};

/** Marks a term in `KeptTokens.set` whose token was sampled greedily, so that nothing was cut. */
export const wholeVocabulary = -1;
/** Marks a term in `KeptTokens.set` whose token is missing from the set that was computed again. The term is not trained. */
export const outsideOfSet = -2;

/**
 * The loss per term k, with r = exp(logprob - behaviour logprob) and A the advantage; the step's loss is
 * sum_k weight_k * loss_k.
 * - `policy`: -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A) (PPO, Schulman et al. 2017; asymmetric bounds: DAPO, 2025),
 *   with dual clip: min(that, -dualClip * A) if A < 0 (Ye et al. 2020); 0 turns it off.
 *   plus klCoef * KL estimate against the frozen initial weights (Schulman 2020; d = reference - logprob;
 *   k1: -d, k2: d^2 / 2, k3: exp(d) - d - 1),
 *   minus entropyCoef * entropy.
 * - `sft`: -logprob.
 *
 * Training logprobs are taken at the temperature that the token was sampled at: that of `LossTerms.temperatures` if it is
 * given, otherwise that of the loss. Logprobs of greedy tokens (0) are taken at 1.
 *
 * With `truncation` the distribution of a term is the softmax over the tokens that the sampler kept. Its logprob, its
 * entropy, and the reference's logprob in the KL estimate are all taken over this set. The sets are `LossTerms.kept` if it
 * is given, otherwise those of the weights that the step begins with. A term whose token is outside its set has weight 0.
 */
export type LossOptions =
  | {
      readonly kind: 'sft';
      /** Default: 1. */
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
      /** Behaviour logprobs were sampled at this temperature, and training logprobs are taken at it. */
      readonly temperature: number;
      /** Set if top-p or top-k cut the distributions. */
      readonly truncation?: Truncation;
      /** Replaces PPO's term: see `createPolicySlope` in the trainer. Default: ppo. */
      readonly objective?: Objective;
      readonly correction?: ImportanceCorrection;
    };

export type Objective = 'ppo' | 'gspo' | 'cispo' | 'reinforce';

/**
 * Corrects for the difference between the sampler and the weights that a batch began with: each term is weighted by
 * w = exp(logprob of these weights - behaviour logprob), held constant. The loss takes its ratio against these weights.
 */
export type ImportanceCorrection = {
  /** `token`: w of each token | `sequence`: the product over the tokens of its row | `geometric`: their geometric mean. */
  readonly level: 'token' | 'sequence' | 'geometric';
  /** `truncate`: a w outside of the limits becomes the nearer limit | `mask`: it becomes 0. */
  readonly mode: 'truncate' | 'mask';
  readonly lower: number;
  readonly upper: number;
};

/**
 * An algorithm's own loss, as its derivative: shape [K], dLoss_k / dlogprob_k for each term, without the term's
 * weight. Backbones compute it in two passes. The first gives the logprobs. The second is a cross entropy whose
 * coefficient on each token is -weight * slope, which has the same gradient.
 *
 * Worked example, the policy gradient without clipping, -ratio * advantage:
 * ```
 * (terms) => terms.logprobs.map((logprob, k) => -Math.exp(logprob - terms.behaviour[k]) * terms.advantages[k])
 * ```
 */
export type LossSlope = (terms: SlopeTerms) => Float64Array | Float32Array | readonly number[] | SlopeReport;

/** A slope, and what a step reports about its loss. Each array has shape [K]. */
export type SlopeReport = {
  readonly slopes: ArrayLike<number>;
  /** The values of the loss, without weights. */
  readonly losses: ArrayLike<number>;
  /** 1 if a limit took effect on the term. */
  readonly clipped: Uint8Array;
  /** The importance weights of the terms after their limits. Absent without a correction. */
  readonly importance?: ArrayLike<number>;
  /** Further metrics of the step. */
  readonly metrics?: Readonly<Record<string, number>>;
};

/**
 * The loss that has this slope. If the slope reports no losses, a step reports sum_k weight_k * slope_k * logprob_k as
 * its loss, and no clipping.
 */
export type SlopeLoss = {
  readonly kind: 'slope';
  readonly slope: LossSlope;
  readonly temperature: number;
  readonly truncation?: Truncation;
  /** Terms that are added to the loss, as in a policy loss. Default: none. */
  readonly penalties?: Pick<Extract<LossOptions, { kind: 'policy' }>, 'klCoef' | 'klEstimator' | 'entropyCoef'>;
  /** Whether the slope reads `SlopeTerms.proximal`, always or only of batches that the present weights sampled. Default: false. */
  readonly needsProximal?: boolean | 'on-policy';
};

/** The input of a slope: the terms of all packs of one optimizer step, in order. Each array has shape [K]. */
export type SlopeTerms = {
  /** Under the weights that are about to be trained; `LossOptions` defines the temperature. */
  readonly logprobs: Float64Array;
  /** Under the weights that sampled the token. */
  readonly behaviour: Float64Array;
  /** Under the weights that the batch began with. Absent if these are the present weights. */
  readonly proximal?: Float64Array;
  readonly advantages: Float64Array;
  readonly weights: Float64Array;
  /** The row of the step that the token belongs to. */
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
  readonly schedule: 'constant' | 'linear' | 'cosine' | 'warmup_stable_decay';
  readonly warmupSteps: number;
  /** The share of the rate that a falling schedule ends at. Default: 0. */
  readonly minRateShare?: number;
  /** The length of the decay of `warmup_stable_decay`, in optimizer steps. Default: a tenth of `totalSteps`. */
  readonly decaySteps?: number;
  /** Length of the schedule in optimizer steps; ignored by `constant`. */
  readonly totalSteps: number;
};

/** Optimizer options that apply to one step only. `learningRate` is the rate itself: no schedule is applied to it. */
export type OptimizerOverrides = Partial<
  Pick<OptimizerOptions, 'learningRate' | 'beta1' | 'beta2' | 'epsilon' | 'weightDecay' | 'maxGradNorm'>
>;

/** The input of one optimizer step. Gradients of all packs are accumulated, then the weights are updated once. */
export type TrainBatch = {
  /** If the backbone takes rows, each pack is one row without branches. */
  readonly packs: readonly TreePack[];
  readonly loss: LossOptions | SlopeLoss;
  /**
   * True if the present weights sampled every trained token. Then a behaviour logprob that differs from the training one by
   * rounding alone may be taken to equal it, so that the step depends on token ids and advantages and not on the rounding.
   */
  readonly isOnPolicy?: boolean;
  /** Replaces options that the backbone was opened with, in this step only. */
  readonly optimizer?: OptimizerOverrides;
  /** If true, the step returns `TrainStepMetrics.terms`. */
  readonly reportTerms?: boolean;
};

/** The values of each term of one pack, before the update. Each array has shape [K], in the order of the pack's terms. */
export type TermReport = {
  /** Training logprobs, at the token's temperature. */
  readonly logprobs: Float32Array;
  /** Entropy in nats of the distribution that the token was drawn from. Null if the backbone does not see distributions. */
  readonly entropies: Float32Array | null;
  /** exp(training logprob - behaviour logprob). */
  readonly ratios: Float32Array;
  /** 1 if the clip removed the term's gradient. */
  readonly clipped: Uint8Array;
  /** The importance weight by which the correction multiplied the term. Absent without a correction, and if the backbone does not report it. */
  readonly importance?: Float32Array;
};

/** The result of one optimizer step. */
export type TrainStepMetrics = {
  readonly loss: number;
  /** Before clipping. Null if the backbone does not report it. */
  readonly gradNorm: number | null;
  /** Weighted mean per term, in nats. Null if the backbone does not see whole distributions. */
  readonly entropy: number | null;
  /** Weighted mean of the KL estimate; 0 if klCoef is 0. */
  readonly kl: number;
  /** Share of terms whose ratio was clipped, 0..1. */
  readonly clipFraction: number;
  /** Maximum and mean over terms of |training logprob - behaviour logprob| before the update. */
  readonly logprobGapMax: number;
  readonly logprobGapMean: number;
  readonly learningRate: number;
  /** The version of the weights after the update. */
  readonly policyVersion: number;
  /** Number of terms in the loss. */
  readonly trainedTokens: number;
  /** Number of terms left out because their token is outside the set that was computed again. Only a truncated loss has it. */
  readonly tokensOutsideSupport?: number;
  /** Number of tokens of the rows, and of the trees that hold them. */
  readonly rowTokens: number;
  readonly treeTokens: number;
  /** One per pack, if the batch set `reportTerms`. */
  readonly terms?: readonly TermReport[];
};

/** What a backbone can do. The loop, the configuration and the case suites read this instead of the backbone's name. */
export type BackboneCapabilities = {
  /** `packs`: token trees. `rows`: every pack of a batch must be one row. */
  readonly takes: 'packs' | 'rows';
  /**
   * If true, the same request with the same seed gives the same tokens, even among other calls, and the same batch gives the
   * same weights to the last bit, as long as `Backbone.arithmetic` is the same. The same run then gives the same metrics
   * on-policy. Other calls may change the last digits of a sampled logprob, and an off-policy loss reads these digits.
   */
  readonly repeatsSeed: boolean;
  readonly reportsGradNorm: boolean;
  /** Losses that it can train. `kl` and `entropy` mean a policy loss with that coefficient above 0. */
  readonly losses: readonly ('sft' | 'policy' | 'kl' | 'entropy' | 'slope')[];
  /** The objectives that the backbone computes itself, in one pass. All others are trained as a slope. Default: ppo. */
  readonly objectives?: readonly Objective[];
  /** Whether the backbone computes a truncated correction of tokens itself. Default: false. */
  readonly truncatesImportance?: boolean;
  /** Whether a larger number of calls at the same time can make sampling faster. Default: false. */
  readonly samplesWide?: boolean;
  /** If true, `onToken` receives each token when it is sampled. If false, it receives all of them at the end. */
  readonly streams: boolean;
  /** Whether it can train tokens that were sampled at a temperature other than 1. Default: true. */
  readonly trainsTemperatures?: boolean;
  /** Whether it can train tokens that were sampled with top-p or top-k, over the tokens that the sampler kept. Default: false. */
  readonly trainsTruncation?: boolean;
};

/** The location of a remote backbone's model. */
export type ModelHandle = {
  /** Local folder with config.json and the tokenizer's files. */
  readonly tokenizerDir: string;
  /** The name that the owner of the weights gives them, such as `tinker://run-17/weights/0003`. */
  readonly weights: string;
};

/** Shape [T], T >= 1. */
export type TokenRow = { readonly ids: Int32Array };

/**
 * An engine whose weights can be trained. It reads and writes model folders in the Hugging Face layout.
 * Errors are BackboneError.
 */
export interface Backbone {
  readonly engine: Engine;
  readonly capabilities: BackboneCapabilities;
  /** The folder it was loaded from, with config.json, tokenizer.json, tokenizer_config.json and weights; or a handle if the weights are elsewhere. */
  readonly modelDir: string | ModelHandle;
  readonly policyVersion: number;
  /** Describes what the last digits depend on in addition to the inputs, such as `2 threads, AMD EPYC 9654`. Default: they depend on nothing else. */
  readonly arithmetic?: string;
  /**
   * Makes one optimizer step, after which the engine samples from the new weights. A rejection leaves the weights unchanged. Its code is `bad_batch`
   * (a malformed pack, no supervised token, or a slope that is not a finite number), `non_finite_gradient` or `aborted`.
   */
  trainStep(batch: TrainBatch, options?: { readonly signal?: AbortSignal }): Promise<TrainStepMetrics>;
  /** Shape per row [T]: logprob of ids[t] given ids[0..t) at temperature 1; entry 0 is 0. */
  logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]>;
  /**
   * Shape per pack [K]: logprob of each term's token under the present weights, at the token's own temperature or, without one, at `temperature`.
   * A backbone whose model can be a teacher has this method.
   */
  termLogprobs?(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]>;
  /**
   * Returns for each pack the tokens that a sampler with the present weights keeps at each term. A backbone that trains truncation has this method.
   * It is called before the first of several optimizer steps on a batch, because the sets must be those of the weights that sampled.
   */
  keptTokens?(packs: readonly TreePack[], sampling: TruncatedSampling): Promise<readonly KeptTokens[]>;
  /** Writes a Hugging Face model folder, plus `trainer_state/` (optimizer moments, step, policy version) that `load` resumes from. */
  save(dir: string): Promise<void>;
  /** Restores weights and optimizer state that `save` wrote. */
  load(dir: string): Promise<void>;
  /**
   * Aborts if the process or thread that computes has ended without `close`. It never answers again, so a run ends at once. The reason is a
   * BackboneError that says why. A backbone without this signal computes in the calling process, or on a server that may come back.
   */
  readonly gone?: AbortSignal;
  close(): Promise<void>;
}

/** A frozen model that scores the tokens of a student. It has the student's vocabulary. Errors are BackboneError. */
export interface Teacher extends Pick<BackboneCapabilities, 'takes'> {
  /**
   * Shape per pack [K]: logprob of each term's token, at the token's own temperature or, without one, at `temperature`.
   * A token that several rows of a pack share is computed once. `takes` says which packs are allowed.
   */
  termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]>;
  /** As the signal of a Backbone. */
  readonly gone?: AbortSignal;
  close(): Promise<void>;
}
