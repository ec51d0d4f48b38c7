import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  BackboneError,
  createRandom,
  EngineError,
  type Backbone,
  type BackboneCapabilities,
  type Completion,
  type Engine,
  type GenerateRequest,
  type OptimizerOptions,
  type TokenRow,
  type TrainBatch,
  type TrainStepMetrics,
  type TreePack,
} from '@agentjet/core';
import { power } from '../backbones/power.js';
import { trainInPasses, type BuiltInBatch } from '../slope/train-in-passes.js';
import {
  createTinyWeights,
  nextLogprobs,
  termLogprobs,
  tinyGradient,
  type TinyGradient,
  type TinyShape,
  type TinyWeights,
} from './tiny-model.js';

export type TinyBackboneOptions = {
  readonly shape: TinyShape;
  readonly seed: number;
  readonly optimizer: OptimizerOptions;
  /** Defaults to 64. */
  readonly contextLength?: number;
  readonly modelDir?: string;
  /** Defaults to `packs`. With `rows` it refuses packs of more than one row. */
  readonly takes?: BackboneCapabilities['takes'];
};

type TinyState = {
  readonly weights: TinyWeights;
  readonly momentum: Float64Array;
  readonly variance: Float64Array;
  readonly step: number;
};

const tinyCapabilities: BackboneCapabilities = {
  takes: 'packs',
  repeatsSeed: true,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
};

const stateFile = 'tiny-backbone.json';

/**
 * A whole Backbone over the tiny model, for tests of code that drives a backbone. It samples, trains by AdamW, saves
 * and loads. It ignores top-p and top-k.
 */
export function createTinyBackbone(options: TinyBackboneOptions): Backbone {
  return new TinyBackbone(options);
}

class TinyBackbone implements Backbone {
  readonly engine: Engine;
  readonly capabilities: BackboneCapabilities;
  readonly modelDir: string;
  readonly #options: TinyBackboneOptions;
  readonly #reference: TinyWeights;
  #state: TinyState;
  #closed = false;

  constructor(options: TinyBackboneOptions) {
    this.#options = options;
    this.modelDir = options.modelDir ?? 'tiny';
    this.capabilities = { ...tinyCapabilities, takes: options.takes ?? 'packs' };
    this.#reference = createTinyWeights(options.shape, options.seed);
    const zeros = () => new Float64Array(this.#reference.length);
    this.#state = { weights: this.#reference, momentum: zeros(), variance: zeros(), step: 0 };
    this.engine = { contextLength: options.contextLength ?? 64, generate: (request) => this.#generate(request) };
  }

  get policyVersion(): number {
    return this.#state.step;
  }

  trainStep(batch: TrainBatch, { signal }: { readonly signal?: AbortSignal } = {}): Promise<TrainStepMetrics> {
    return this.#guard(() =>
      trainInPasses(batch, {
        termLogprobs: async (packs, temperature) =>
          packs.map((pack) =>
            Float32Array.from(termLogprobs(this.#state.weights, this.#options.shape, pack, temperature)),
          ),
        trainStep: (builtIn) => this.#trainStep(builtIn, signal),
      }),
    );
  }

  async #trainStep(batch: BuiltInBatch, signal: AbortSignal | undefined): Promise<TrainStepMetrics> {
    const { packs, loss, optimizer, reportTerms } = batch;
    this.#checkPacks(packs);
    const parts: TinyGradient[] = [];
    for (const pack of packs) {
      await Promise.resolve();
      if (signal?.aborted)
        throw new BackboneError('aborted', 'The training step was aborted; the weights are unchanged.');
      parts.push(tinyGradient(this.#state.weights, this.#options.shape, pack, loss, this.#reference));
    }
    const gradient = this.#reference.map((_, index) => sum(parts, (part) => part.gradient[index] ?? 0));
    const gradNorm = Math.hypot(...gradient);
    const learningRate = optimizer?.learningRate ?? scheduledRate(this.#options.optimizer, this.#state.step);
    const options = { ...this.#options.optimizer, ...optimizer, learningRate, gradNorm };
    this.#state = stepAdamW(this.#state, gradient, options);
    const gaps = parts.flatMap((part) => [...part.gaps]);
    return {
      loss: sum(parts, (part) => part.loss),
      gradNorm,
      entropy: sum(parts, (part) => part.entropy),
      kl: sum(parts, (part) => part.kl),
      clipFraction: sum(parts, (part) => part.clippedTerms) / Math.max(gaps.length, 1),
      logprobGapMax: gaps.reduce((highest, gap) => Math.max(highest, gap), 0),
      logprobGapMean: sum(gaps, (gap) => gap) / Math.max(gaps.length, 1),
      learningRate,
      policyVersion: this.policyVersion,
      trainedTokens: gaps.length,
      rowTokens: sum(packs, (pack) => pack.rowTokens),
      treeTokens: sum(packs, (pack) => pack.ids.length),
      ...(reportTerms && { terms: parts.map(({ report }) => report) }),
    };
  }

  #checkPacks(packs: readonly TreePack[]): void {
    if (packs.every(({ terms }) => terms.pair.length === 0))
      throw new BackboneError('bad_batch', `The batch of ${packs.length} packs supervises no token.`);
    const at = this.capabilities.takes === 'rows' ? packs.findIndex((pack) => !isOneRow(pack)) : -1;
    if (at >= 0)
      throw new BackboneError(
        'bad_batch',
        `Pack ${at} has more than one row, but this backbone takes rows. Use packRows.`,
      );
  }

  logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]> {
    return this.#guard(async () =>
      rows.map(({ ids }) =>
        Float32Array.from(ids, (id, t) => (t === 0 ? 0 : (this.#next(ids.subarray(0, t), 1)[id] ?? Number.NaN))),
      ),
    );
  }

  save(dir: string): Promise<void> {
    return this.#guard(async () => {
      await mkdir(dir, { recursive: true });
      const { weights, momentum, variance, step } = this.#state;
      await writeFile(
        path.join(dir, stateFile),
        JSON.stringify({ weights: [...weights], momentum: [...momentum], variance: [...variance], step }),
      );
    });
  }

  load(dir: string): Promise<void> {
    return this.#guard(async () => {
      const file = path.join(dir, stateFile);
      const text = await readFile(file, 'utf8').catch((cause: unknown) => {
        throw new BackboneError('bad_model_files', `${file} cannot be read. Load a folder that save wrote.`, { cause });
      });
      const saved = JSON.parse(text) as Record<'weights' | 'momentum' | 'variance', number[]> & { step: number };
      this.#state = {
        weights: Float64Array.from(saved.weights),
        momentum: Float64Array.from(saved.momentum),
        variance: Float64Array.from(saved.variance),
        step: saved.step,
      };
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  async #guard<T>(run: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new BackboneError('closed', 'The backbone is closed.');
    return run();
  }

  #next(context: Int32Array, temperature: number, { weights }: TinyState = this.#state): Float64Array {
    return nextLogprobs(weights, this.#options.shape, context, temperature);
  }

  async #generate({ promptIds, sampling, signal, onToken }: GenerateRequest): Promise<Completion> {
    if (this.#closed) throw new EngineError('closed', 'The engine is closed.');
    if (promptIds.length >= this.engine.contextLength)
      throw new EngineError(
        'context_overflow',
        `The prompt has ${promptIds.length} tokens; the context holds ${this.engine.contextLength}.`,
      );
    const random = createRandom(sampling.seed);
    const ids: number[] = [];
    const logprobs: number[] = [];
    const state = this.#state; // a step in the meantime replaces the weights
    const policyVersion = state.step;
    const limit = Math.min(sampling.maxTokens, this.engine.contextLength - promptIds.length);
    const done = (finishReason: 'stop' | 'length') => ({
      ids: Int32Array.from(ids),
      logprobs: Float32Array.from(logprobs),
      finishReason,
      policyVersion,
    });
    while (ids.length < limit) {
      await Promise.resolve();
      if (signal?.aborted) throw new EngineError('aborted', 'The call was aborted.');
      const distribution = this.#next(Int32Array.of(...promptIds, ...ids), sampling.temperature || 1, state);
      const id =
        sampling.temperature === 0
          ? distribution.indexOf(Math.max(...distribution))
          : drawFrom(distribution, random.next());
      ids.push(id);
      logprobs.push(distribution[id] ?? Number.NaN);
      if (onToken?.(id, distribution[id] ?? Number.NaN) === 'stop' || sampling.stopIds.includes(id))
        return done('stop');
    }
    return done('length');
  }
}

function isOneRow({ ids, positions, ends }: TreePack): boolean {
  return ids.every((_, index) => positions[index] === index && ends[index] === ids.length);
}

function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

function drawFrom(logprobs: Float64Array, uniform: number): number {
  let left = uniform;
  const index = logprobs.findIndex((logprob) => (left -= Math.exp(logprob)) < 0);
  return index === -1 ? logprobs.length - 1 : index;
}

/** Warms up from 0, then is constant, linear or cosine to 0 at totalSteps. */
function scheduledRate({ learningRate, schedule, warmupSteps, totalSteps }: OptimizerOptions, step: number): number {
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  const progress = Math.min((step - warmupSteps) / Math.max(totalSteps - warmupSteps, 1), 1);
  if (schedule === 'linear') return learningRate * (1 - progress);
  return schedule === 'cosine' ? (learningRate * (1 + Math.cos(Math.PI * progress))) / 2 : learningRate;
}

/**
 * Makes one AdamW step (Loshchilov & Hutter 2019) with weight decay on all weights. The gradient is clipped to
 * maxGradNorm first.
 */
function stepAdamW(
  state: TinyState,
  gradient: Float64Array,
  options: OptimizerOptions & { readonly gradNorm: number },
): TinyState {
  const { beta1, beta2, epsilon, learningRate, weightDecay, maxGradNorm, gradNorm } = options;
  const scale = maxGradNorm > 0 && gradNorm > maxGradNorm ? maxGradNorm / gradNorm : 1;
  const step = state.step + 1;
  const momentum = state.momentum.map((value, index) => beta1 * value + (1 - beta1) * scale * (gradient[index] ?? 0));
  const variance = state.variance.map(
    (value, index) => beta2 * value + (1 - beta2) * (scale * (gradient[index] ?? 0)) ** 2,
  );
  const [first, second] = [1 - power(beta1, step), 1 - power(beta2, step)];
  const update = (index: number) =>
    (momentum[index] ?? 0) / first / (Math.sqrt((variance[index] ?? 0) / second) + epsilon);
  const weights = state.weights.map((weight, index) => weight - learningRate * (update(index) + weightDecay * weight));
  return { weights, momentum, variance, step };
}
