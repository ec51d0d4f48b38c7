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
};

/**
 * The loss per term k, with r = exp(logprob - behaviour logprob) and A the advantage; the step's loss is
 * sum_k weight_k * loss_k.
 * - `policy`: -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A) (PPO, Schulman et al. 2017; asymmetric bounds: DAPO, 2025),
 *   with dual clip: min(that, -dualClip * A) where A < 0 (Ye et al. 2020); 0 turns it off.
 *   plus klCoef * KL estimate against the frozen initial weights (Schulman 2020; d = reference - logprob;
 *   k1: -d, k2: d^2 / 2, k3: exp(d) - d - 1),
 *   minus entropyCoef * entropy.
 * - `sft`: -logprob.
 */
export type LossOptions =
  | { readonly kind: 'sft' }
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

/** Everything one optimizer step needs. The packs of one batch are accumulated, then one update is made. */
export type TrainBatch = {
  readonly packs: readonly TreePack[];
  readonly loss: LossOptions;
  /**
   * True: the present weights sampled every trained token. Then a behaviour logprob that differs from the training one by
   * rounding alone may be taken to equal it, so that the step depends on token ids and advantages and not on the rounding.
   */
  readonly isOnPolicy?: boolean;
};

/** What one optimizer step found and did. */
export type TrainStepMetrics = {
  readonly loss: number;
  /** Before clipping. */
  readonly gradNorm: number;
  /** Weighted mean per term, nats. */
  readonly entropy: number;
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
  /** Tokens of the rows, and of the trees they were laid out as. */
  readonly rowTokens: number;
  readonly treeTokens: number;
};

/** Shape [T], T >= 1. */
export type TokenRow = { readonly ids: Int32Array };

/**
 * An engine whose weights can be trained. Model folders are the Hugging Face layout, in and out.
 * Errors are BackboneError.
 */
export interface Backbone {
  readonly engine: Engine;
  /** Folder with config.json, tokenizer.json, tokenizer_config.json and weights it was loaded from. */
  readonly modelDir: string;
  readonly policyVersion: number;
  /**
   * One optimizer step; the engine samples from the new weights afterwards. Rejects, with the weights unchanged, with `bad_batch`
   * (a malformed pack, or no supervised token), `non_finite_gradient` or `aborted`.
   */
  trainStep(batch: TrainBatch, options?: { readonly signal?: AbortSignal }): Promise<TrainStepMetrics>;
  /** Shape per row [T]: logprob of ids[t] given ids[0..t) at temperature 1; entry 0 is 0. */
  logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]>;
  /**
   * Shape per pack [K]: logprob of each term's token under the present weights at this temperature. Only backbones have it whose
   * loss takes its ratio against the weights that a batch began with instead of those that sampled it (decoupled PPO, Hilton et
   * al. 2022). Asked before the first of several optimizer steps on a batch.
   */
  proximalLogprobs?(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]>;
  /** Writes a Hugging Face model folder, plus `trainer_state/` (optimizer moments, step, policy version) that `load` resumes from. */
  save(dir: string): Promise<void>;
  /** Restores weights and optimizer state that `save` wrote. */
  load(dir: string): Promise<void>;
  close(): Promise<void>;
}
