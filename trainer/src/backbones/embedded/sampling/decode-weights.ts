/**
 * The weights inside a decode graph, as external data, and the products with them. In int8, ONNX Runtime also rounds the
 * activations to 8 bits for each product (accuracy level 4), because it has fast kernels only for this level.
 */

import { add, toFloat } from '../training/graph/elementwise.js';
import type { EncodedTensor, ExternalTensor } from '../training/graph/encode-model.js';
import type { Graph } from '../training/graph/graph.js';
import { gemm } from '../training/graph/matmul.js';
import { reshape } from '../training/graph/reshape.js';
import type { Value } from '../training/graph/value.js';
import type { WeightFormat } from '../training/frozen/frozen-weights.js';
import { weightLocations } from '../training/frozen/weight-files.js';
import { blockSize } from '../training/frozen/int8-blocks.js';
import { parameterOf, type ParameterLayout } from '../training/model/parameter-layout.js';
import { embeddingName } from '../training/model/sequence-inputs.js';

export class DecodeWeights {
  readonly #graph: Graph;
  readonly #layout: ParameterLayout;
  readonly #format: WeightFormat;
  readonly #known = new Map<string, Value>();

  constructor(graph: Graph, layout: ParameterLayout, format: WeightFormat) {
    this.#graph = graph;
    this.#layout = layout;
    this.#format = format;
  }

  vector(name: string): Value {
    return this.#joined([name]);
  }

  /** The number of outputs of a module. */
  numOut(module: string): number {
    return parameterOf(this.#layout, `${module}.weight`).shape[0] ?? 0;
  }

  /** Whether the layers have a bias for the matrix. */
  hasBias(module: string): boolean {
    return this.#layout.parameters.some(({ name }) => name === `${module}.bias`);
  }

  /** Returns hidden W^T + bias, where W is the stacked matrices of the modules, which are neighbours in the layout. */
  product(hidden: Value, modules: readonly string[]): Value {
    const bias = modules.every((module) => this.hasBias(module))
      ? this.#joined(modules.map((module) => `${module}.bias`))
      : undefined;
    const names = modules.map((module) => `${module}.weight`);
    if (this.#format !== 'int8')
      return gemm(hidden, this.#joined(names), { transposeRight: true, ...(bias === undefined ? {} : { bias }) });
    const output = this.#int8Product(hidden, names);
    return bias === undefined ? output : add(output, bias);
  }

  /**
   * Returns the embedding row of each token, shape [N, hiddenSize]. If matrices are stored in fewer bits, the rows are the
   * input `embedded`, so that the session holds the table only for the head.
   */
  embed(hiddenSize: number): Value {
    if (this.#format !== 'float32') {
      const embedded = this.#graph.input('embedded', ['B', 'T', hiddenSize]);
      return reshape(embedded, [this.#graph.defineDim('N', ['B', 'T']), hiddenSize]);
    }
    const ids = this.#graph.input('ids', ['B', 'T'], 'int32');
    const flat = reshape(ids, [this.#graph.defineDim('N', ['B', 'T'])]);
    const table = this.#joined([embeddingName]);
    return this.#graph.node('Gather', [table, flat], { shape: ['N', hiddenSize] }, { attributes: { axis: 0 } });
  }

  #int8Product(hidden: Value, names: readonly string[]): Value {
    const { key, shape, start, end } = this.#range(names);
    const [numOut = 0, numIn = 0] = shape;
    const numBlocks = (end - start) / blockSize;
    const codes = this.#external(`${key}, codes`, [numOut, numIn / blockSize, blockSize], {
      content: { location: weightLocations.codes, offset: start, length: end - start },
      type: 'uint8',
    });
    const scales = this.#external(`${key}, scales`, [numBlocks], {
      content: { location: weightLocations.scales, offset: (4 * start) / blockSize, length: 4 * numBlocks },
    });
    return this.#graph.node(
      'MatMulNBits',
      [hidden, codes, scales],
      { shape: [hidden.shape[0] ?? 'N', numOut] },
      { attributes: { K: numIn, N: numOut, bits: 8, block_size: blockSize, accuracy_level: 4 }, isContrib: true },
    );
  }

  /** Returns neighbours in the layout as one tensor, stacked along their first axis. */
  #joined(names: readonly string[]): Value {
    const { key, shape, start, end } = this.#range(names);
    const isVector = shape.length === 1;
    if (this.#format === 'float16' && !isVector) {
      const content = { location: weightLocations.halves, offset: 2 * start, length: 2 * (end - start) };
      return toFloat(this.#external(key, shape, { content, type: 'float16' }));
    }
    const first = this.#format === 'float32' ? 0 : this.#layout.decayedLength;
    const content = { location: weightLocations.floats, offset: 4 * (start - first), length: 4 * (end - start) };
    return this.#external(key, shape, { content });
  }

  #range(names: readonly string[]) {
    const key = names.join('+');
    const parameters = names.map((name) => parameterOf(this.#layout, name));
    const [first] = parameters;
    if (first === undefined) throw new Error('A joined weight has at least one part.');
    const end = parameters.reduce(
      (offset, parameter) => (parameter.offset === offset ? offset + parameter.size : NaN),
      first.offset,
    );
    if (Number.isNaN(end)) throw new Error(`${key} are not adjacent in the layout.`);
    const rows = parameters.reduce((total, { shape }) => total + (shape[0] ?? 0), 0);
    return { key, shape: [rows, ...first.shape.slice(1)], start: first.offset, end };
  }

  #external(
    name: string,
    shape: readonly number[],
    { content, type = 'float32' }: { readonly content: ExternalTensor; readonly type?: EncodedTensor['type'] },
  ): Value {
    const value = this.#known.get(name) ?? this.#graph.initializer(shape, content, { name, type });
    this.#known.set(name, value);
    return value;
  }
}
