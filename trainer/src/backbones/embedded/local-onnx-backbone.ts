/**
 * The embedded backbone in one thread: a model in training and an engine over its weights. ONNX Runtime's `run` blocks
 * the thread, so `createOnnxBackbone` keeps this class in a worker. A training step waits for completions in progress,
 * and calls that come in the meantime wait for the step. Each completion therefore comes from one policy version.
 */

import { BackboneError, rejectOnAbort } from '@agentjet/core';
import { idleOptimizer } from '../idle-optimizer.js';
import type {
  Backbone,
  BackboneCapabilities,
  KeptTokens,
  OptimizerOptions,
  TokenRow,
  TrainBatch,
  TrainStepMetrics,
  TreePack,
  TruncatedSampling,
} from '@agentjet/core';
import { capabilitiesOf, embeddedArithmetic } from '../capabilities.js';
import { countParameters } from './training/model/parameter-layout.js';
import type { LoraOptions } from '../lora-options.js';
import type { WeightFormat } from './training/frozen/frozen-weights.js';
import { loadOnnxModel, openOnnxModel, saveOnnxModel } from './training/model-checkpoint.js';
import type { OnnxModel } from './training/onnx-model.js';
import { EmbeddedEngine } from './sampling/embedded-engine.js';
import { resolveEngineLimits } from './sampling/engine-limits.js';
import type { SchedulerOptions } from './sampling/scheduler.js';
import { createWeightsOpener, type WeightsOpener } from './sampling/open-weights.js';
import { StepSessionFactory } from './sampling/step-session.js';

export type LocalBackboneOptions = {
  /** A Hugging Face model folder of the Qwen2, Qwen3 or Llama shape. */
  readonly modelDir: string;
  /** Limits of the engine that differ from the defaults. */
  readonly engine: Partial<SchedulerOptions>;
  /** If absent, the backbone refuses trainStep, so the weights never change. */
  readonly optimizer?: OptimizerOptions;
  /** If present, adapters are trained instead of all weights. */
  readonly lora?: LoraOptions;
  /** How weights that no step changes are stored. Defaults to float32. */
  readonly frozenWeights?: WeightFormat;
  /** The seed of new adapters. Defaults to 1. */
  readonly seed?: number;
  readonly threads: number;
  /** The limit of prompt plus completion, in tokens. It cannot exceed the model's own limit, which is the default. */
  readonly contextLength?: number;
};

export class LocalOnnxBackbone implements Backbone {
  readonly capabilities: BackboneCapabilities;
  readonly arithmetic: string;
  readonly modelDir: string;
  readonly engine: EmbeddedEngine;
  readonly #options: LocalBackboneOptions;
  readonly #model: OnnxModel;
  readonly #weights: WeightsOpener;
  #isClosed = false;

  constructor(model: OnnxModel, options: LocalBackboneOptions) {
    this.modelDir = options.modelDir;
    this.capabilities = capabilitiesOf(options);
    this.arithmetic = embeddedArithmetic(options.threads);
    this.#options = options;
    this.#model = model;
    const contextLength = Math.min(options.contextLength ?? Infinity, model.config.contextLength);
    const layout = model.base?.layout ?? model.layout;
    const shape = new StepSessionFactory(model.config, layout, {
      threads: options.threads,
      contextLength,
      adapter: model.base?.adapter,
      ...(model.base && { format: model.base.weights.format }),
    });
    this.#weights = createWeightsOpener(model, shape);
    this.engine = new EmbeddedEngine(
      { shape, open: () => this.#weights.open() },
      resolveEngineLimits(options.engine, countParameters(layout)),
    );
  }

  get policyVersion(): number {
    return this.#model.policyVersion;
  }

  async trainStep(batch: TrainBatch, options: { readonly signal?: AbortSignal } = {}): Promise<TrainStepMetrics> {
    this.#refuseClosed();
    if (this.#options.optimizer === undefined)
      throw new BackboneError(
        'not_trainable',
        `The backbone of ${this.modelDir} was opened with train: false: it samples and scores, but has no optimizer.`,
      );
    const { signal } = options;
    let hasStarted = false;
    const step = this.engine.changeWeights(async () => {
      if (signal?.aborted === true) throw aborted(signal);
      hasStarted = true;
      return await this.#model.trainStep(batch, options);
    });
    // Reject at once only before the step has started. Afterwards the model decides whether an abort comes in time.
    return await rejectOnAbort(step, signal, () => (hasStarted ? undefined : aborted(signal)));
  }

  /**
   * Returns the logprob of each term's token, shape [K] per pack, at its own temperature or otherwise at `temperature`.
   */
  async termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]> {
    this.#refuseClosed();
    return await this.#model.termLogprobs(packs, temperature);
  }

  async keptTokens(packs: readonly TreePack[], sampling: TruncatedSampling): Promise<readonly KeptTokens[]> {
    this.#refuseClosed();
    return await this.#model.keptTokens(packs, sampling);
  }

  async logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]> {
    this.#refuseClosed();
    return await this.#model.logprobs(rows);
  }

  async save(dir: string): Promise<void> {
    this.#refuseClosed();
    await saveOnnxModel(this.#model, { modelDir: this.modelDir, dir });
  }

  async load(dir: string): Promise<void> {
    this.#refuseClosed();
    await this.engine.changeWeights(() => loadOnnxModel(this.#model, dir));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.engine.close();
    await this.#weights.close();
    await this.#model.close();
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new BackboneError('closed', 'The backbone is closed.');
  }
}

/** Rejects with BackboneError `bad_model_files` or `unsupported_model`. */
export async function openLocalOnnxBackbone(options: LocalBackboneOptions): Promise<LocalOnnxBackbone> {
  const { modelDir, optimizer = idleOptimizer, threads, lora, seed = 1, frozenWeights = 'float32' } = options;
  const adapter = lora === undefined ? {} : { adapter: { lora, seed } };
  return new LocalOnnxBackbone(
    await openOnnxModel({ modelDir, optimizer, threads, frozenWeights, ...adapter }),
    options,
  );
}

function aborted(signal: AbortSignal | undefined): BackboneError {
  return new BackboneError('aborted', 'The training step was aborted. The weights are unchanged.', {
    cause: signal?.reason,
  });
}
