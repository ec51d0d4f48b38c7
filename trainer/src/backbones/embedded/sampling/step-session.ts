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
import { decodeGraph } from './decode-graph.js';
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
    this.#model = decodeGraph(config, { layout, adapter, format }, graphOptions).encode();
    const { cos, sin } = ropeTables(config, options.contextLength);
    const shape = [options.contextLength, config.headDim / 2];
    this.#rotation = { cos: toTensor(Float32Array.from(cos), shape), sin: toTensor(Float32Array.from(sin), shape) };
  }

  /**
   * Opens a session over a copy of the weights, so later changes do not affect the session. An adapter is not copied:
   * each pass reads its tensors again. Embedding rows of weights in
   * fewer bits are read from `weights`.
   */
  async open(weights: FrozenWeights | WeightFiles, adapter: Feeds = {}): Promise<StepSession> {
    const external =
      weights instanceof WeightFiles ? { externalFolder: weights.folder } : { externalData: externalWeights(weights) };
    const session = await openSession(this.#model, { threads: this.#threads, ...external });
    const embed = this.#embedding(weights);
    return new StepSession(session, this, { constantFeeds: { ...this.#rotation, ...adapter }, embed });
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
  readonly #constantFeeds: Feeds;
  readonly #embed: Embed | undefined;

  constructor(
    session: InferenceSession,
    { vocabSize, contextLength, kvShape, passCost }: StepShape,
    { constantFeeds, embed }: { readonly constantFeeds: Feeds; readonly embed: Embed | undefined },
  ) {
    this.vocabSize = vocabSize;
    this.contextLength = contextLength;
    this.kvShape = kvShape;
    this.passCost = passCost;
    this.#session = session;
    this.#constantFeeds = constantFeeds;
    this.#embed = embed;
  }

  async run(input: StepInput): Promise<StepOutput> {
    const { numRows, width, pastLength } = input;
    const { numKvHeads, headDim } = this.kvShape;
    const feeds: { [name: string]: Tensor } = {
      ...this.#tokens(input),
      positions: toTensor(input.positions, [numRows, width]),
      last: toTensor(input.lastTokens, [numRows]),
      bias: toTensor(input.bias, [numRows, 1, 1, width, pastLength + width]),
      inverse_temperature: toTensor(input.inverseTemperatures, [numRows, 1]),
      ...this.#constantFeeds,
    };
    for (const [index, past] of input.past.entries())
      feeds[`past_${index}`] = toTensor(past, [numRows, numKvHeads, 1, pastLength, headDim]);
    const { probabilities, fresh } = await this.#session.run(feeds);
    return { probabilities: floats(probabilities), fresh: floats(fresh) };
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

function floats(tensor: Tensor | undefined): Float32Array {
  if (tensor?.data instanceof Float32Array) return tensor.data;
  throw new Error('An output of the decode graph is missing.');
}
