/** A StepModel that runs the decode graph on ONNX Runtime, with one snapshot of the weights. */

import { openSession, toTensor, type InferenceSession, type Tensor } from '@agentjet/onnx';
import type { ModelConfig } from '../training/model/model-config.js';
import { parameterOf, type Parameter, type ParameterLayout } from '../training/model/parameter-layout.js';
import type { AdapterForm } from '../training/adapter/adapter-form.js';
import { ropeTables } from '../training/model/rope-tables.js';
import {
  type FrozenWeights,
  readMatrixRows,
  storedBytes,
  type WeightFormat,
} from '../training/frozen/frozen-weights.js';
import { externalWeights, WeightFiles } from '../training/frozen/weight-files.js';
import { embeddingName } from '../training/model/sequence-inputs.js';
import type { FloatArray } from '../training/optimizer/optimizer-memory.js';
import { decodeGraph } from './decode-graph.js';
import { JoinedAdapters } from './joined-adapters.js';
import { kvBytesPerToken } from './step-model.js';
import type { KvShape, StepInput, StepModel, StepOutput, StepShape } from './step-model.js';

/**
 * The fixed time of a pass, as the number of bytes that are read from memory in that time (measured: 0.2 ms). The time
 * to read the weights is added to it.
 */
const passBytes = 4 * 2 ** 20;

type Feeds = { readonly [input: string]: Tensor };
/** Returns embedding rows, shape [ids.length, hiddenSize]. */
type Embed = (ids: Int32Array) => Float32Array;

/** Opens sessions over one decode graph, for any weights. */
export class StepSessionFactory implements StepShape {
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly kvShape: KvShape;
  readonly passCost: number;
  readonly #model: Uint8Array;
  readonly #rotation: { readonly cos: Tensor; readonly sin: Tensor };
  readonly #threads: number;
  readonly #embeddingTable: Parameter;
  readonly #adapters: JoinedAdapters | undefined;

  constructor(
    config: ModelConfig,
    layout: ParameterLayout,
    options: {
      readonly threads: number;
      readonly contextLength: number;
      readonly isFused?: boolean;
      readonly adapter?: AdapterForm | undefined;
      /** How the weights are stored. Defaults to float32. */
      readonly format?: WeightFormat;
    },
  ) {
    this.vocabSize = config.vocabSize;
    this.contextLength = options.contextLength;
    this.kvShape = { numLayers: config.numLayers, numKvHeads: config.numKvHeads, headDim: config.headDim };
    this.passCost = (passBytes + storedBytes(layout, options.format ?? 'float32')) / kvBytesPerToken(this.kvShape);
    this.#threads = options.threads;
    this.#embeddingTable = parameterOf(layout, embeddingName);
    const { adapter, format, ...graphOptions } = options;
    this.#adapters = adapter && new JoinedAdapters(adapter);
    this.#model = decodeGraph(config, { layout, adapters: this.#adapters, format }, graphOptions).encode();
    const { cos, sin } = ropeTables(config, options.contextLength);
    const shape = [options.contextLength, config.headDim / 2];
    this.#rotation = { cos: toTensor(Float32Array.from(cos), shape), sin: toTensor(Float32Array.from(sin), shape) };
  }

  /**
   * Opens a session over a copy of the weights, so later changes do not affect the session. Embedding rows of weights in
   * fewer bits are read from `weights`. With adapters, `useAdapters` must come before the first pass.
   */
  async open(weights: FrozenWeights | WeightFiles): Promise<StepSession> {
    const external =
      weights instanceof WeightFiles ? { externalFolder: weights.folder } : { externalData: externalWeights(weights) };
    const session = await openSession(this.#model, { threads: this.#threads, ...external });
    const embed = this.#embedding(weights);
    return new StepSession(session, this, { rotation: this.#rotation, adapters: this.#adapters, embed });
  }

  #embedding(weights: FrozenWeights | WeightFiles): Embed | undefined {
    if (weights instanceof WeightFiles) return (ids) => weights.embeddingRows(ids);
    return weights.format === 'float32' ? undefined : (ids) => readMatrixRows(weights, this.#embeddingTable, ids);
  }
}

export class StepSession implements StepModel {
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly kvShape: KvShape;
  readonly passCost: number;
  readonly #session: InferenceSession;
  readonly #adapters: JoinedAdapters | undefined;
  readonly #embed: Embed | undefined;
  #constantFeeds: Feeds;
  /** The inputs of the last pass. The object is used again, because it has hundreds of adapters and past tokens. */
  #feeds: { [input: string]: Tensor };
  #past: StepInput['past'] = [];
  readonly #probabilities = new ReusedBuffer();
  readonly #fresh = new ReusedBuffer();

  constructor(
    session: InferenceSession,
    { vocabSize, contextLength, kvShape, passCost }: StepShape,
    {
      rotation,
      adapters,
      embed,
    }: {
      readonly rotation: Feeds;
      readonly adapters: JoinedAdapters | undefined;
      readonly embed: Embed | undefined;
    },
  ) {
    this.vocabSize = vocabSize;
    this.contextLength = contextLength;
    this.kvShape = kvShape;
    this.passCost = passCost;
    this.#session = session;
    this.#constantFeeds = rotation;
    this.#feeds = { ...rotation };
    this.#adapters = adapters;
    this.#embed = embed;
  }

  /** Copies the parameters of the adapters. Later passes use them. */
  useAdapters(parameters: FloatArray): void {
    this.#constantFeeds = { ...this.#constantFeeds, ...this.#adapters?.feeds(parameters) };
    this.releaseMemory();
  }

  /** Drops the keys and values of the last pass, and the memory of its outputs. The next pass allocates it again. */
  releaseMemory(): void {
    this.#feeds = { ...this.#constantFeeds };
    this.#past = [];
    this.#probabilities.release();
    this.#fresh.release();
  }

  async run(input: StepInput): Promise<StepOutput> {
    const { numRows, width, pastLength } = input;
    const { numLayers, numKvHeads, headDim } = this.kvShape;
    Object.assign(this.#feeds, this.#tokens(input), this.#pastFeeds(input), {
      positions: toTensor(input.positions, [numRows, width]),
      last: toTensor(input.lastTokens, [numRows]),
      bias: toTensor(input.bias, [numRows, 1, 1, width, pastLength + width]),
      inverse_temperature: toTensor(input.inverseTemperatures, [numRows, 1]),
    });
    const probabilities = this.#probabilities.view(numRows * this.vocabSize);
    const fresh = this.#fresh.view(2 * numLayers * numRows * numKvHeads * width * headDim);
    await this.#session.run(this.#feeds, {
      probabilities: toTensor(probabilities, [numRows, this.vocabSize]),
      fresh: toTensor(fresh, [2 * numLayers * numRows, numKvHeads, width, headDim]),
    });
    return { probabilities, fresh };
  }

  /** Returns nothing if the last pass had the same past. */
  #pastFeeds({ past, numRows, pastLength }: StepInput): Feeds {
    if (past === this.#past) return {};
    this.#past = past;
    const { numKvHeads, headDim } = this.kvShape;
    const shape = [numRows, numKvHeads, 1, pastLength, headDim];
    return Object.fromEntries(past.map((values, index) => [`past_${index}`, toTensor(values, shape)]));
  }

  #tokens({ ids, numRows, width }: StepInput): Feeds {
    if (this.#embed === undefined) return { ids: toTensor(ids, [numRows, width]) };
    const rows = this.#embed(ids);
    return { embedded: toTensor(rows, [ids.length, rows.length / ids.length]) };
  }

  async close(): Promise<void> {
    await this.#session.release();
  }
}

/** Memory that ONNX Runtime writes an output into. Without it, each output would be copied into a new array. */
class ReusedBuffer {
  #values = new Float32Array(0);

  view(size: number): Float32Array {
    if (this.#values.length < size) this.#values = new Float32Array(size);
    return this.#values.subarray(0, size);
  }

  release(): void {
    this.#values = new Float32Array(0);
  }
}
