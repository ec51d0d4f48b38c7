/**
 * A model that is trained in this process: forward, backward and AdamW over token trees, and scoring. `run` of ONNX
 * Runtime blocks its thread, so code that also has to answer calls uses this class in a worker. The class does not
 * sample. Samplers read `parameters` between steps.
 */

import { BackboneError } from '@agentjet/core';
import { power } from '../../power.js';
import type {
  KeptTokens,
  LossOptions,
  OptimizerOptions,
  OptimizerOverrides,
  TokenRow,
  TrainBatch,
  TreePack,
  TruncatedSampling,
} from '@agentjet/core';
import { trainInPasses, withKeptTokens, type BuiltInBatch } from '../../../slope/train-in-passes.js';
import { lossForm } from './model/loss-form.js';
import { parameterLayout } from './model/parameter-layout.js';
import { learningRateAt } from './optimizer/learning-rate.js';
import { createOptimizerMemory } from './optimizer/optimizer-memory.js';
import { checkPack } from './microbatches/check-pack.js';
import { GraphRunner } from './microbatches/graph-runner.js';
import { microbatchArrays } from './microbatches/microbatch-arrays.js';
import { KeptSets } from './microbatches/kept-sets.js';
import { FeedWriter } from './microbatches/microbatch-feeds.js';
import { microbatchLimits } from './microbatches/microbatch-limits.js';
import { planMicrobatches } from './microbatches/plan-microbatches.js';
import { packOfRow } from './microbatches/rows-as-packs.js';
import { addMicrobatch, emptySums, stepMetrics, type OnnxStepMetrics } from './microbatches/step-sums.js';
import { TermReports } from './microbatches/term-reports.js';
import { treesOfPack } from './microbatches/trees-of-pack.js';
import type { ModelConfig } from './model/model-config.js';
import type { ParameterLayout } from './model/parameter-layout.js';
import { WeightFiles } from './frozen/weight-files.js';
import type { FrozenBase } from './adapter/frozen-base.js';
import type { FloatArray, OptimizerMemory } from './optimizer/optimizer-memory.js';
import type { TrainingOutputs } from './microbatches/graph-runner.js';
import type { MicrobatchArrays } from './microbatches/microbatch-arrays.js';
import type { Microbatch, MicrobatchLimits } from './microbatches/plan-microbatches.js';
import type { StepSums } from './microbatches/step-sums.js';

export type OnnxModelOptions = {
  readonly config: ModelConfig;
  /**
   * The trained parameters, shape [layout.length], laid out by parameterLayout(config), or by the adapter of `base`. The
   * array is copied.
   */
  readonly weights: FloatArray;
  /** If present, only an adapter of these weights is trained. Floats must have the precision `precision`. */
  readonly base?: FrozenBase;
  readonly optimizer: OptimizerOptions;
  /** Threads inside one operator. Defaults to 2. */
  readonly threads?: number;
  /** Use double precision only to verify results. It is slow and uses only standard operators. */
  readonly precision?: 'float32' | 'float64';
  /**
   * The weights of the frozen reference of the KL term, read at first use. Defaults to `weights`. With an adapter, the
   * reference is the base, and this option has no effect.
   */
  readonly readReference?: () => Promise<FloatArray>;
  /** The limits by which batches are cut to fit this machine. They do not change results. */
  readonly limits?: Partial<MicrobatchLimits>;
};

/** The contents of a checkpoint. The arrays are the live buffers. */
export type OnnxModelState = {
  readonly parameters: FloatArray;
  readonly firstMoments: FloatArray;
  readonly secondMoments: FloatArray;
  /** The number of optimizer steps taken. */
  readonly step: number;
  readonly policyVersion: number;
};

export class OnnxModel {
  readonly config: ModelConfig;
  /** The layout of the trained parameters. */
  readonly layout: ParameterLayout;
  /** Undefined if all weights are trained. */
  readonly base: FrozenBase | undefined;
  readonly #optimizer: OptimizerOptions;
  readonly #memory: OptimizerMemory;
  readonly #runner: GraphRunner;
  readonly #feeds: FeedWriter;
  readonly #readReference: () => Promise<FloatArray>;
  readonly #limits: MicrobatchLimits;
  #reference: FloatArray | undefined;
  #step = 0;
  #policyVersion = 0;
  /** Buffers are reused, so only one call may run at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({
    config,
    weights,
    optimizer,
    threads = 2,
    precision = 'float32',
    readReference,
    limits,
    base,
  }: OnnxModelOptions) {
    this.config = config;
    this.base = base;
    this.layout = base?.adapter.layout ?? parameterLayout(config);
    this.#optimizer = optimizer;
    this.#memory = createOptimizerMemory(this.layout.length, precision);
    this.#memory.parameters.set(weights);
    this.#runner = new GraphRunner({ config, layout: this.layout, base, precision, threads });
    this.#feeds = new FeedWriter(config, precision);
    this.#readReference = base === undefined ? (readReference ?? copyLater(weights)) : zeroAdapter(this.layout);
    this.#limits = { ...microbatchLimits(config, { isAdapter: base !== undefined }), ...limits };
  }

  get policyVersion(): number {
    return this.#policyVersion;
  }

  /** Shape [layout.length]: the live weights, which change in place with each step. */
  get parameters(): FloatArray {
    return this.#memory.parameters;
  }

  /** The gradients of the last step, before clipping. */
  get gradients(): FloatArray {
    return this.#memory.gradients;
  }

  /** Calls `use` with the state, which no step changes in the meantime. */
  async withState<Result>(use: (state: OnnxModelState) => Promise<Result>): Promise<Result> {
    const { parameters, firstMoments, secondMoments } = this.#memory;
    return this.#inTurn(() =>
      use({ parameters, firstMoments, secondMoments, step: this.#step, policyVersion: this.#policyVersion }),
    );
  }

  /** Replaces the state with another one of the same layout. */
  async restore(state: OnnxModelState): Promise<void> {
    await this.#inTurn(async () => {
      this.#memory.parameters.set(state.parameters);
      this.#memory.firstMoments.set(state.firstMoments);
      this.#memory.secondMoments.set(state.secondMoments);
      this.#step = state.step;
      this.#policyVersion = state.policyVersion;
    });
  }

  /**
   * Makes one optimizer step over all packs. Rejects with BackboneError `bad_batch` (a pack is malformed, or nothing is
   * supervised), `overlong_row`, `non_finite_gradient`, or `aborted` (checked between micro-batches). Weights and
   * moments are then unchanged.
   */
  async trainStep(batch: TrainBatch, { signal }: { readonly signal?: AbortSignal } = {}): Promise<OnnxStepMetrics> {
    return this.#inTurn(() =>
      trainInPasses(batch, {
        keptTokens: (packs, sampling) => this.#keptTokens(packs, sampling),
        termLogprobs: (packs, temperature) => this.#termLogprobs(packs, temperature),
        trainStep: (builtIn) => this.#trainStep(builtIn, signal),
      }),
    );
  }

  /** Returns, shape [T] per row, the logprob of each token given those before it, at temperature 1; entry 0 is 0. */
  async logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]> {
    return this.#inTurn(() => this.#logprobs(rows));
  }

  /**
   * Returns, shape [K] per pack, the logprob of each term's token, at its own temperature or otherwise at
   * `temperature`.
   */
  async termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]> {
    return this.#inTurn(() => this.#termLogprobs(packs, temperature));
  }

  /** Returns, per pack, the tokens that a sampler with the present weights keeps at each term. */
  async keptTokens(packs: readonly TreePack[], sampling: TruncatedSampling): Promise<readonly KeptTokens[]> {
    return this.#inTurn(() => this.#keptTokens(packs, sampling));
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#runner.close());
    if (this.base?.weights instanceof WeightFiles) await this.base.weights.close();
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #keptTokens(packs: readonly TreePack[], sampling: TruncatedSampling): Promise<readonly KeptTokens[]> {
    for (const [index, pack] of packs.entries()) checkPack(pack, index, this.config.vocabSize);
    const found = new KeptSets(packs, sampling);
    const temperature = temperatureOf(sampling);
    for (const microbatch of planMicrobatches(packs.flatMap(treesOfPack), this.#limits)) {
      const arrays = microbatchArrays(microbatch, temperature);
      const feeds = this.#feeds.sequence(arrays, temperature);
      found.add(
        microbatch,
        arrays,
        await this.#runner.distributions(this.#memory.parameters, feeds),
        sampling.temperature,
      );
    }
    return found.kept;
  }

  async #trainStep(given: BuiltInBatch, signal: AbortSignal | undefined): Promise<OnnxStepMetrics> {
    for (const [index, pack] of given.packs.entries()) checkPack(pack, index, this.config.vocabSize);
    const batch = {
      ...given,
      packs: await withKeptTokens(given.packs, given.loss, {
        keptTokens: (packs, sampling) => this.#keptTokens(packs, sampling),
      }),
    };
    const microbatches = planMicrobatches(batch.packs.flatMap(treesOfPack), this.#limits);
    if (microbatches.length === 0)
      throw new BackboneError(
        'bad_batch',
        `The batch of ${batch.packs.length} packs supervises no token, so there is nothing to train.`,
      );
    const found = batch.reportTerms === true ? new TermReports(batch.packs) : undefined;
    const sums = await this.#accumulateGradients(microbatches, batch, { signal, found });
    const gradNorm = Math.sqrt(this.#memory.sumOfGradientSquares());
    this.#refuseNonFinite(gradNorm, sums.loss);
    const learningRate = this.#update(gradNorm, batch.optimizer);
    const metrics = stepMetrics(batch, { sums, gradNorm, learningRate, policyVersion: this.#policyVersion });
    return found === undefined ? metrics : { ...metrics, terms: found.reports };
  }

  async #termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]> {
    for (const [index, pack] of packs.entries()) checkPack(pack, index, this.config.vocabSize);
    const found = new TermReports(packs);
    const loss: LossOptions = { kind: 'sft', temperature };
    for (const microbatch of planMicrobatches(packs.flatMap(treesOfPack), this.#limits)) {
      const arrays = microbatchArrays(microbatch, temperatureOf(loss));
      const logprobs = await this.#runner.score(
        this.#memory.parameters,
        this.#feeds.sequence(arrays, temperatureOf(loss)),
      );
      found.add(microbatch, arrays, { outputs: { logprobs, entropies: new Float32Array(0) }, loss });
    }
    return found.reports.map((report) => report.logprobs);
  }

  async #logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]> {
    const results = rows.map(({ ids }) => new Float32Array(ids.length));
    const resultOfPack = new Map(
      rows.flatMap((row, index) =>
        row.ids.length < 2 ? [] : [[packOfRow(row), results[index] ?? new Float32Array()] as const],
      ),
    );
    for (const [index, pack] of [...resultOfPack.keys()].entries()) checkPack(pack, index, this.config.vocabSize);
    const trees = [...resultOfPack.keys()].flatMap(treesOfPack);
    for (const microbatch of planMicrobatches(trees, this.#limits)) {
      const logprobs = await this.#runner.score(
        this.#memory.parameters,
        this.#feeds.sequence(microbatchArrays(microbatch, 1), 1),
      );
      let pair = 0;
      for (const { pack, pairs } of microbatch.trees.map(({ tree }) => tree)) {
        resultOfPack.get(pack)?.set(logprobs.subarray(pair, pair + pairs.length), 1);
        pair += pairs.length;
      }
    }
    return results;
  }

  /** The first micro-batch overwrites the gradients, and each later one adds to them. */
  async #accumulateGradients(
    microbatches: readonly Microbatch[],
    batch: BuiltInBatch,
    { signal, found }: { readonly signal: AbortSignal | undefined; readonly found: TermReports | undefined },
  ): Promise<StepSums> {
    let sums = emptySums();
    for (const [index, microbatch] of microbatches.entries()) {
      await refuseAborted(signal);
      const { gradients, partialGradients } = this.#memory;
      const { numRows, rowLength, numKeys } = microbatch;
      const arrays = microbatchArrays(microbatch, temperatureOf(batch.loss));
      const outputs = await this.#runMicrobatch(arrays, batch, {
        gradients: index === 0 ? gradients : partialGradients,
        isRecomputed: numRows * rowLength > this.#limits.maxKeptTokens(numKeys),
      });
      if (index > 0) this.#memory.addPartialGradients();
      sums = addMicrobatch(sums, arrays, { outputs, loss: batch.loss });
      found?.add(microbatch, arrays, { outputs, loss: batch.loss });
    }
    await refuseAborted(signal);
    return sums;
  }

  async #runMicrobatch(
    arrays: MicrobatchArrays,
    batch: BuiltInBatch,
    into: { readonly gradients: FloatArray; readonly isRecomputed: boolean },
  ): Promise<TrainingOutputs> {
    const { loss } = batch;
    const sequence = this.#feeds.sequence(arrays, temperatureOf(loss));
    const form = lossForm(loss);
    const reference = needsReference(loss)
      ? this.#feeds.reference(await this.#runner.score(await this.#referenceWeights(), sequence))
      : {};
    const feeds = { ...sequence, ...reference, ...this.#feeds.loss(arrays, batch) };
    return this.#runner.train(form, { parameters: this.#memory.parameters, feeds, ids: arrays.ids, ...into });
  }

  async #referenceWeights(): Promise<FloatArray> {
    return (this.#reference ??= toPrecisionOf(this.#memory.parameters, await this.#readReference()));
  }

  #refuseNonFinite(gradNorm: number, loss: number): void {
    if (Number.isFinite(gradNorm) && !Number.isNaN(loss)) return;
    throw new BackboneError(
      'non_finite_gradient',
      `The gradient norm of optimizer step ${this.#step + 1} is ${gradNorm} (loss ${loss}). The weights are unchanged. Lower trainer_common.optim.lr, or limit the norm with trainer_common.optim.grad_clip.`,
    );
  }

  #update(gradNorm: number, overrides: OptimizerOverrides = {}): number {
    const { beta1, beta2, epsilon, weightDecay, maxGradNorm } = { ...this.#optimizer, ...overrides };
    const learningRate = overrides.learningRate ?? learningRateAt(this.#optimizer, this.#step);
    this.#step += 1;
    this.#policyVersion += 1;
    const [first, second] = [1 - power(beta1, this.#step), Math.sqrt(1 - power(beta2, this.#step))];
    const shared = {
      beta1,
      beta2,
      gradientScale: maxGradNorm > 0 && gradNorm > maxGradNorm ? maxGradNorm / (gradNorm + 1e-6) : 1,
      stepSize: (learningRate * second) / first,
      epsilon: epsilon * second,
    };
    const { decayedLength, length } = this.layout;
    this.#memory.update({ start: 0, end: decayedLength }, { ...shared, decay: 1 - learningRate * weightDecay });
    this.#memory.update({ start: decayedLength, end: length }, { ...shared, decay: 1 });
    return learningRate;
  }
}

/**
 * Returns a reader, like that of a model folder, over a copy of the weights. The weights are copied at once, because
 * they change later.
 */
function copyLater(weights: FloatArray): () => Promise<FloatArray> {
  const copy = weights.slice();
  return async () => copy;
}

/** Returns an adapter of zeros. If A and B are 0, the model computes the same as its base. */
function zeroAdapter({ length }: ParameterLayout): () => Promise<FloatArray> {
  return async () => new Float32Array(length);
}

function toPrecisionOf(like: FloatArray, weights: FloatArray): FloatArray {
  return like instanceof Float32Array ? Float32Array.from(weights) : Float64Array.from(weights);
}

function needsReference(loss: LossOptions): boolean {
  return loss.kind === 'policy' && loss.klCoef !== 0;
}

/** The behaviour logprobs of greedy tokens are computed at temperature 1 (see Completion in @agentjet/core). */
function temperatureOf({ temperature = 1 }: { readonly temperature?: number }): number {
  return temperature > 0 ? temperature : 1;
}

/** Yields to the event loop first, because a worker receives an abort as a message. */
async function refuseAborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return;
  await new Promise((resolve) => setImmediate(resolve));
  if (signal.aborted)
    throw new BackboneError('aborted', 'The training step was aborted. The weights are unchanged.', {
      cause: signal.reason,
    });
}
