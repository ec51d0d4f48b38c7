/** Declares the inputs of a training graph from which it reads frozen weights. */

import type { Graph } from '../graph/graph.js';
import { toFloat } from '../graph/elementwise.js';
import { gemm } from '../graph/matmul.js';
import { reshape } from '../graph/reshape.js';
import type { Value } from '../graph/value.js';
import type { Parameter, ParameterLayout } from '../model/parameter-layout.js';
import {
  isMatrix,
  matrixInput,
  type matrixUses,
  scalesInput,
  type WeightFormat,
  zeroCodesInput,
} from './frozen-weights.js';
import { blockSize } from './int8-blocks.js';

type Use = (typeof matrixUses)[number];

/** A matrix [out, in] that is stored in fewer bits than the graph computes with, which is single precision. */
export type StoredMatrix = {
  /** Adds the nodes that convert the matrix to floats. Each use may be opened once. */
  open(use: Use): Value;
};

export type FrozenInputs = {
  /** The parameters that are inputs as they are. */
  readonly values: ReadonlyMap<string, Value>;
  readonly stored: ReadonlyMap<string, StoredMatrix>;
};

export function frozenInputs(graph: Graph, { parameters }: ParameterLayout, format: WeightFormat): FrozenInputs {
  const isStored = (parameter: Parameter): boolean => format !== 'float32' && isMatrix(parameter);
  const plain = parameters.filter((parameter) => !isStored(parameter));
  const zeroCodes = zeroCodesOf(graph);
  const opened = (parameter: Parameter): StoredMatrix => ({
    open: (use) =>
      format === 'float16' ? openHalves(graph, parameter, use) : openBlocks(graph, parameter, { use, zeroCodes }),
  });
  return {
    values: new Map(plain.map(({ name, shape }) => [name, graph.input(name, shape)])),
    stored: new Map(parameters.filter(isStored).map((parameter) => [parameter.name, opened(parameter)])),
  };
}

/**
 * Returns input W^T + bias. The product and its gradient open the matrix separately, so each float copy is in memory
 * for only one product.
 */
export function storedProduct(input: Value, matrix: StoredMatrix, bias?: Value): Value {
  const { graph } = input;
  const output = graph.withoutGradient(() =>
    gemm(input, matrix.open(graph.isRecomputing ? 'recomputed' : 'forward'), {
      transposeRight: true,
      ...(bias === undefined ? {} : { bias }),
    }),
  );
  return graph.differentiable(output, [{ of: input, gradient: (gradient) => gemm(gradient, matrix.open('backward')) }]);
}

function openHalves(graph: Graph, { name, shape }: Parameter, use: Use): Value {
  return toFloat(graph.input(matrixInput(name, use), shape, 'float16'));
}

type BlockUse = { readonly use: Use; readonly zeroCodes: (numBlocks: number) => Value };

/** DequantizeLinear has a scale for each row, and here each block is a row. */
function openBlocks(graph: Graph, { name, shape, size }: Parameter, { use, zeroCodes }: BlockUse): Value {
  const numBlocks = size / blockSize;
  const codes = graph.input(matrixInput(name, use), [numBlocks, blockSize], 'uint8');
  const scales = graph.sharedInput(scalesInput(name), [numBlocks]);
  const blocks = graph.node(
    'DequantizeLinear',
    [codes, scales, zeroCodes(numBlocks)],
    { shape: [numBlocks, blockSize] },
    { attributes: { axis: 0 } },
  );
  return reshape(blocks, shape);
}

function zeroCodesOf(graph: Graph): BlockUse['zeroCodes'] {
  return (numBlocks) => graph.sharedInput(zeroCodesInput(numBlocks), [numBlocks], 'uint8');
}
