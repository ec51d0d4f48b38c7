/** A StepModel that runs the decode graph on ONNX Runtime, with one snapshot of the weights. */

import { openSession, runInto, toTensor, type InferenceSession, type Tensor } from '@agentjet/onnx';
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
import { decodeGraph, isGrouped } from './decode-graph.js';
import { JoinedAdapters } from './joined-adapters.js';
import { seesWrites } from './sees-writes.js';
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

type SessionOptions = {
  readonly threads: number;
  readonly contextLength: number;
  readonly isFused?: boolean;
  readonly adapter?: AdapterForm | undefined;
  /** How the weights are stored. Defaults to float32. */
  readonly format?: WeightFormat;
};

/** Opens sessions over the decode graph of a model, for any weights. */
export class StepSessionFactory implements StepShape {
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly kvShape: KvShape;
  readonly passCost: number;
  readonly #config: ModelConfig;
  readonly #layout: ParameterLayout;
  readonly #options: SessionOptions;
  readonly #rotation: { readonly cos: Tensor; readonly sin: Tensor };
  readonly #embeddingTable: Parameter;

  constructor(config: ModelConfig, layout: ParameterLayout, options: SessionOptions) {
    this.#config = config;
    this.#layout = layout;
    this.#options = options;
    this.vocabSize = config.vocabSize;
    this.contextLength = options.contextLength;
    this.kvShape = { numLayers: config.numLayers, numKvHeads: config.numKvHeads, headDim: config.headDim };
    this.passCost = (passBytes + storedBytes(layout, options.format ?? 'float32')) / kvBytesPerToken(this.kvShape);
    this.#embeddingTable = parameterOf(layout, embeddingName);
    const { cos, sin } = ropeTables(config, options.contextLength);
    const shape = [options.contextLength, config.headDim / 2];
    this.#rotation = { cos: toTensor(Float32Array.from(cos), shape), sin: toTensor(Float32Array.from(sin), shape) };
  }

  /**
   * Opens a session over a copy of the weights, so later changes do not affect the session. Embedding rows of weights in
   * fewer bits are read from `weights`. With adapters, `useAdapters` must come before the first pass.
   */
  async open(weights: FrozenWeights | WeightFiles): Promise<StepSession> {
    const { threads, isFused, adapter, format } = this.#options;
    const folder = weights instanceof WeightFiles && (await seesWrites()) ? weights.folder : undefined;
    const adapters = adapter && new JoinedAdapters(adapter, folder);
    const form = { layout: this.#layout, adapters, format };
    const model = decodeGraph(this.#config, form, isFused === undefined ? {} : { isFused }).encode();
    adapters?.reserve();
    const external =
      weights instanceof WeightFiles ? { externalFolder: weights.folder } : { externalData: externalWeights(weights) };
    const session = await openSession(model, { threads, ...external }).catch((error: unknown) => {
      adapters?.close();
      throw error;
    });
    return new StepSession(session, this, {
      rotation: this.#rotation,
      adapters,
      embed: this.#embedding(weights),
      isGrouped: isGrouped(this.#config, form, isFused),
    });
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
  readonly #isGrouped: boolean;
  #constantFeeds: Feeds;
  /** The inputs of the last pass. The object is used again, because it has hundreds of adapters and past tokens. */
  #feeds: { [input: string]: Tensor };
  /** The outputs of the last pass, which are in the memory of the past. Used only with grouped attention. */
  #present: { [output: string]: Tensor } = {};
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
      isGrouped,
    }: {
      readonly rotation: Feeds;
      readonly adapters: JoinedAdapters | undefined;
      readonly embed: Embed | undefined;
      readonly isGrouped: boolean;
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
    this.#isGrouped = isGrouped;
  }

  /** Copies the parameters of the adapters. Later passes use them. */
  useAdapters(parameters: FloatArray): void {
    this.#constantFeeds = { ...this.#constantFeeds, ...this.#adapters?.update(parameters) };
    this.releaseMemory();
  }

  /** Drops the keys and values of the last pass, and the memory of its outputs. The next pass allocates it again. */
  releaseMemory(): void {
    this.#feeds = { ...this.#constantFeeds };
    this.#present = {};
    this.#past = [];
    this.#probabilities.release();
    this.#fresh.release();
  }

  async run(input: StepInput): Promise<StepOutput> {
    const probabilities = this.#probabilities.view(input.numRows * this.vocabSize);
    if (!this.#isGrouped) return { probabilities, fresh: await this.#runPlain(input, probabilities) };
    if (input.width === 1) await this.#runGrouped(input, probabilities);
    else
      for (let row = 0; row < input.numRows; row += 1)
        await this.#runGrouped(
          rowOf(input, row),
          probabilities.subarray(row * this.vocabSize, (row + 1) * this.vocabSize),
        );
    return { probabilities, fresh: null };
  }

  async #runPlain(input: StepInput, probabilities: Float32Array): Promise<Float32Array> {
    const { numRows, width, pastLength } = input;
    const { numLayers, numKvHeads, headDim } = this.kvShape;
    Object.assign(
      this.#feeds,
      this.#commonFeeds(input),
      this.#pastFeeds(input, [numRows, numKvHeads, 1, pastLength, headDim]),
      {
        positions: toTensor(input.positions, [numRows, width]),
        bias: toTensor(input.bias, [numRows, 1, 1, width, pastLength + width]),
      },
    );
    const fresh = this.#fresh.view(2 * numLayers * numRows * numKvHeads * width * headDim);
    await runInto(this.#session, this.#feeds, {
      probabilities: toTensor(probabilities, [numRows, this.vocabSize]),
      fresh: toTensor(fresh, [2 * numLayers * numRows, numKvHeads, width, headDim]),
    });
    return fresh;
  }

  async #runGrouped(input: StepInput, probabilities: Float32Array): Promise<void> {
    const { numRows, pastLength } = input;
    const { numKvHeads, headDim } = this.kvShape;
    const ends = Int32Array.from(input.lastTokens, (last) => input.positions[last] ?? 0);
    const past = this.#pastFeeds(input, [numRows, numKvHeads, pastLength, headDim]);
    Object.assign(this.#feeds, this.#commonFeeds(input), past, {
      ends: toTensor(ends, [numRows]),
      longest: toTensor(Int32Array.of(Math.max(...ends) + 1), [1]),
    });
    for (const [index, tensor] of Object.values(past).entries()) this.#present[`present_${index}`] = tensor;
    this.#present['probabilities'] = toTensor(probabilities, [numRows, this.vocabSize]);
    await runInto(this.#session, this.#feeds, this.#present);
  }

  #commonFeeds({ ids, numRows, width, lastTokens, inverseTemperatures }: StepInput): Feeds {
    const rows = this.#embed?.(ids);
    return {
      ...(rows === undefined
        ? { ids: toTensor(ids, [numRows, width]) }
        : { embedded: toTensor(rows, [numRows, width, rows.length / ids.length]) }),
      last: toTensor(lastTokens, [numRows]),
      inverse_temperature: toTensor(inverseTemperatures, [numRows, 1]),
    };
  }

  /** Returns nothing if the last pass had the same past. */
  #pastFeeds({ past }: StepInput, shape: readonly number[]): Feeds {
    if (past === this.#past) return {};
    this.#past = past;
    return Object.fromEntries(past.map((values, index) => [`past_${index}`, toTensor(values, shape)]));
  }

  async close(): Promise<void> {
    await this.#session.release();
    this.#adapters?.close();
  }
}

/** Memory that ONNX Runtime writes an output into. */
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

/** Returns one row of a pass, without padding. */
function rowOf({ width, pastLength, ...input }: StepInput, row: number): StepInput {
  const last = input.lastTokens[row] ?? 0;
  const [start, end] = [row * width, last + 1];
  const rowLength = (input.past[0]?.length ?? 0) / input.numRows;
  return {
    numRows: 1,
    width: end - start,
    pastLength,
    ids: input.ids.subarray(start, end),
    positions: input.positions.subarray(start, end),
    lastTokens: Int32Array.of(last - start),
    bias: input.bias,
    inverseTemperatures: input.inverseTemperatures.subarray(row, row + 1),
    past:
      input.numRows === 1
        ? input.past
        : input.past.map((values) => values.subarray(row * rowLength, (row + 1) * rowLength)),
  };
}
