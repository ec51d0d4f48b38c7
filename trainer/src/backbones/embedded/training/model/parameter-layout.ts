/**
 * Places the parameters of a model, by their names in transformers, in one flat buffer. Matrices, to which weight decay
 * applies, come first. Norms and biases, to which it does not apply, follow. The query, key and value projections of a
 * layer are adjacent, and so are its gate and up projections, so these [out, in] matrices can be read as one matrix.
 */

import type { ModelConfig } from './model-config.js';

export type Parameter = {
  /** The name in the safetensors of transformers, such as `model.layers.0.self_attn.q_proj.weight`. */
  readonly name: string;
  /** The shape in transformers: linear weights are [out, in]. */
  readonly shape: readonly number[];
  /** The offset in elements. */
  readonly offset: number;
  readonly size: number;
};

export type ParameterLayout = {
  readonly parameters: readonly Parameter[];
  /** The length of the flat buffer in elements; a multiple of 4. */
  readonly length: number;
  /** Elements [0, decayedLength) belong to matrices; a multiple of 4. */
  readonly decayedLength: number;
};

type Shaped = { readonly name: string; readonly shape: readonly number[] };

/**
 * Parameters begin at multiples of this many floats. Four floats are one SIMD vector of the optimizer, and sixteen are
 * a cache line.
 */
const alignment = 16;

export function parameterLayout(config: ModelConfig): ParameterLayout {
  const shaped = [...layerlessMatrices(config), ...layers(config).flatMap((layer) => layer.matrices)];
  const matrices = place(shaped, 0);
  const vectors = place(
    [...layers(config).flatMap((layer) => layer.vectors), { name: 'model.norm.weight', shape: [config.hiddenSize] }],
    matrices.end,
  );
  return { parameters: [...matrices.placed, ...vectors.placed], length: vectors.end, decayedLength: matrices.end };
}

export function parameterOf(layout: ParameterLayout, name: string): Parameter {
  const parameter = layout.parameters.find((candidate) => candidate.name === name);
  if (parameter === undefined) throw new Error(`The layout has no parameter "${name}".`);
  return parameter;
}

/** Returns the number of trainable weights of a model. */
export function countParameters(layout: ParameterLayout): number {
  return layout.parameters.reduce((total, { size }) => total + size, 0);
}

function layerlessMatrices({ vocabSize, hiddenSize, isTied }: ModelConfig): readonly Shaped[] {
  const embedding = { name: 'model.embed_tokens.weight', shape: [vocabSize, hiddenSize] };
  return isTied ? [embedding] : [embedding, { name: 'lm_head.weight', shape: [vocabSize, hiddenSize] }];
}

function layers(
  config: ModelConfig,
): readonly { readonly matrices: readonly Shaped[]; readonly vectors: readonly Shaped[] }[] {
  const { hiddenSize, intermediateSize, headDim, hasQkvBias, hasOutputBias, hasHeadNorms } = config;
  const [queries, keys] = [config.numHeads * headDim, config.numKvHeads * headDim];
  return Array.from({ length: config.numLayers }, (_, layer) => {
    const named = (name: string, ...shape: number[]): Shaped => ({ name: `model.layers.${layer}.${name}`, shape });
    return {
      matrices: [
        named('self_attn.q_proj.weight', queries, hiddenSize),
        named('self_attn.k_proj.weight', keys, hiddenSize),
        named('self_attn.v_proj.weight', keys, hiddenSize),
        named('self_attn.o_proj.weight', hiddenSize, queries),
        named('mlp.gate_proj.weight', intermediateSize, hiddenSize),
        named('mlp.up_proj.weight', intermediateSize, hiddenSize),
        named('mlp.down_proj.weight', hiddenSize, intermediateSize),
      ],
      vectors: [
        ...(hasQkvBias
          ? [
              named('self_attn.q_proj.bias', queries),
              named('self_attn.k_proj.bias', keys),
              named('self_attn.v_proj.bias', keys),
            ]
          : []),
        ...(hasOutputBias ? [named('self_attn.o_proj.bias', hiddenSize)] : []),
        ...(hasHeadNorms ? [named('self_attn.q_norm.weight', headDim), named('self_attn.k_norm.weight', headDim)] : []),
        named('input_layernorm.weight', hiddenSize),
        named('post_attention_layernorm.weight', hiddenSize),
      ],
    };
  });
}

/**
 * A parameter directly follows the previous one if both read the same input. Otherwise it begins at the next
 * aligned offset.
 */
export function place(
  shaped: readonly Shaped[],
  start: number,
): { readonly placed: readonly Parameter[]; readonly end: number } {
  let offset = start;
  const placed = shaped.map(({ name, shape }) => {
    if (!/\.([kv]|up)_proj\.(weight|bias)$/.test(name)) offset = align(offset);
    const size = shape.reduce((product, dim) => product * dim, 1);
    const parameter = { name, shape, offset, size };
    offset += size;
    return parameter;
  });
  return { placed, end: align(offset) };
}

function align(offset: number): number {
  return Math.ceil(offset / alignment) * alignment;
}
