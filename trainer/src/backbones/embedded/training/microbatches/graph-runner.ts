/**
 * Runs the scoring and training graphs over micro-batches. It opens one session for each form of loss, when that form
 * is first used.
 */

import { BackboneError, toErrorMessage } from '@agentjet/core';
import {
  distributionGraph,
  embeddedGradientName,
  gradientName,
  scoringGraph,
  trainingGraph,
} from '../model/training-graph.js';
import { frozenFeeds, readMatrixRows, type FrozenWeights } from '../frozen/frozen-weights.js';
import { WeightFiles } from '../frozen/weight-files.js';
import { tensorsOf, viewOf } from '../parameter-tensors.js';
import { embeddingName } from '../model/sequence-inputs.js';
import { openSession, toTensor, type InferenceSession, type Tensor } from '@agentjet/onnx';
import type { ModelConfig } from '../model/model-config.js';
import { parameterOf, type ParameterLayout } from '../model/parameter-layout.js';
import type { FrozenBase } from '../adapter/frozen-base.js';
import type { GridForm } from '../model/sequence-inputs.js';
import type { LossForm } from '../model/loss-form.js';
import type { FloatArray } from '../optimizer/optimizer-memory.js';
import type { Feeds } from './microbatch-feeds.js';

export type TrainingOutputs = {
  readonly loss: number;
  /** Shape [M]. */
  readonly logprobs: FloatArray;
  /** Shape [U], or [R] with several temperatures; pairRows points into it. */
  readonly entropies: FloatArray;
  /** Shape [M]; undefined without a KL term. */
  readonly kl: FloatArray | undefined;
};

export type GraphRunnerOptions = {
  readonly config: ModelConfig;
  /** The layout of the trained parameters. */
  readonly layout: ParameterLayout;
  readonly base: FrozenBase | undefined;
  readonly precision: 'float32' | 'float64';
  readonly threads: number;
};

type FrozenInMemory = { readonly weights: FrozenWeights; readonly feeds: Feeds };
type Fetches = { readonly [output: string]: Tensor | null };

export class GraphRunner {
  readonly #options: GraphRunnerOptions;
  readonly #sessions = new Map<string, Promise<InferenceSession>>();
  #frozen: Promise<FrozenInMemory | undefined> | undefined;

  constructor(options: GraphRunnerOptions) {
    this.#options = options;
  }

  /** Shape [M]; only a forward pass has it. */
  async score(parameters: FloatArray, feeds: Feeds): Promise<FloatArray> {
    const grid = this.#gridForm(feeds);
    const session = await this.#session(`scoring ${gridKey(grid)}`, () =>
      scoringGraph(grid, { floatType: this.#options.precision }).encode(),
    );
    const outputs = await run(session, await this.#inputs(feeds, parameters));
    return floats(outputs['logprobs']);
  }

  /** Shape [U, V], or [R, V] with several temperatures: whole distributions; only a forward pass has it. */
  async distributions(parameters: FloatArray, feeds: Feeds): Promise<FloatArray> {
    const grid = this.#gridForm(feeds);
    const session = await this.#session(`distributions ${gridKey(grid)}`, () =>
      distributionGraph(grid, { floatType: this.#options.precision }).encode(),
    );
    const outputs = await run(session, await this.#inputs(feeds, parameters));
    return floats(outputs['probabilities']);
  }

  /** Overwrites `gradients` with the gradient of every trained parameter. */
  async train(
    form: LossForm,
    request: {
      readonly parameters: FloatArray;
      readonly gradients: FloatArray;
      readonly feeds: Feeds;
      readonly ids: Int32Array;
      /** True if the backward pass computes each layer again, which needs less memory. */
      readonly isRecomputed: boolean;
    },
  ): Promise<TrainingOutputs> {
    const { parameters, gradients, feeds, ids, isRecomputed } = request;
    const grid = { ...this.#gridForm(feeds), isRecomputed };
    const key = `${JSON.stringify(form)} ${gridKey(grid)}`;
    const session = await this.#session(key, () =>
      trainingGraph(grid, form, { floatType: this.#options.precision }).encode(),
    );
    const outputs = await run(session, await this.#inputs(feeds, parameters), this.#fetches(session, gradients));
    if (this.#options.base === undefined) this.#addEmbeddingRows(gradients, floats(outputs[embeddedGradientName]), ids);
    return {
      loss: Number(outputs['loss']?.data[0]),
      logprobs: floats(outputs['logprobs']),
      entropies: floats(outputs['entropies']),
      kl: outputs['kl'] && floats(outputs['kl']),
    };
  }

  async close(): Promise<void> {
    const sessions = await Promise.all(this.#sessions.values());
    this.#sessions.clear();
    await Promise.all(sessions.map((session) => session.release()));
  }

  #gridForm(feeds: Feeds): GridForm {
    const { config, layout, base } = this.#options;
    const [hasPaths, isMixed, isCut] = ['path_tokens' in feeds, 'scaled_rows' in feeds, 'kept_bias' in feeds];
    const format = base?.weights.format ?? 'float32';
    const [adapter, isRecomputed] = [base?.adapter, false];
    return { config, layout: base?.layout ?? layout, adapter, format, hasPaths, isMixed, isCut, isRecomputed };
  }

  #session(key: string, buildModel: () => Uint8Array): Promise<InferenceSession> {
    const { threads, precision } = this.#options;
    const opened = this.#sessions.get(key) ?? openSession(buildModel(), { threads, canFuse: precision === 'float32' });
    this.#sessions.set(key, opened);
    return opened;
  }

  async #inputs(feeds: Feeds, parameters: FloatArray): Promise<Feeds> {
    const frozen = await (this.#frozen ??= this.#readFrozen());
    const ofFrozen = frozen === undefined ? {} : { ...this.#embedded(feeds, frozen.weights), ...frozen.feeds };
    return { ...feeds, ...ofFrozen, ...tensorsOf(this.#options.layout, parameters) };
  }

  async #readFrozen(): Promise<FrozenInMemory | undefined> {
    const { base } = this.#options;
    if (base === undefined) return undefined;
    const weights = base.weights instanceof WeightFiles ? await base.weights.read() : base.weights;
    return { weights, feeds: frozenFeeds(base.layout, weights) };
  }

  /** The graph does not read the embedding rows of stored matrices. They are too few for a conversion of the table. */
  #embedded({ ids }: Feeds, weights: FrozenWeights): Feeds {
    const { base, config } = this.#options;
    if (base === undefined || weights.format === 'float32' || !(ids?.data instanceof Int32Array)) return {};
    const rows = readMatrixRows(weights, parameterOf(base.layout, embeddingName), ids.data);
    return { embedded: toTensor(rows, [ids.data.length, config.hiddenSize]) };
  }

  /** Returns a tensor over memory that a fetch writes in place. */
  #fetches(session: InferenceSession, gradients: FloatArray): Fetches {
    const views = new Map(
      this.#options.layout.parameters.map((parameter) => [gradientName(parameter.name), viewOf(gradients, parameter)]),
    );
    return Object.fromEntries(session.outputNames.map((name) => [name, views.get(name) ?? null]));
  }

  /**
   * Adds the gradient of each input token to its row of the embedding. If the embedding is tied to the head, the row
   * already contains the gradient of the head.
   */
  #addEmbeddingRows(gradients: FloatArray, rows: FloatArray, ids: Int32Array): void {
    const { config, layout } = this.#options;
    const { offset, size } = parameterOf(layout, embeddingName);
    if (!config.isTied) gradients.fill(0, offset, offset + size);
    for (const [token, id] of ids.entries()) {
      const [from, into] = [token * config.hiddenSize, offset + id * config.hiddenSize];
      for (let index = 0; index < config.hiddenSize; index++) {
        gradients[into + index] = (gradients[into + index] as number) + (rows[from + index] as number);
      }
    }
  }
}

function gridKey({ hasPaths, isMixed, isCut, isRecomputed }: GridForm): string {
  return `${hasPaths} ${isMixed} ${isCut} ${isRecomputed}`;
}

async function run(session: InferenceSession, feeds: Feeds, fetches?: Fetches): Promise<InferenceSession.ReturnType> {
  try {
    return await (fetches === undefined ? session.run(feeds) : session.run(feeds, fetches));
  } catch (error) {
    throw new BackboneError(
      'failed',
      `ONNX Runtime could not compute a micro-batch of ${feeds['ids']?.dims.join(' x ')} tokens: ${toErrorMessage(error)}`,
      { cause: error },
    );
  }
}

function floats(tensor: Tensor | undefined): FloatArray {
  if (tensor?.data instanceof Float32Array || tensor?.data instanceof Float64Array) return tensor.data;
  throw new Error('An output of the graph is missing.');
}
