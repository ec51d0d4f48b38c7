import { BackboneError, textConfigOf, type JsonObject } from '@agentjet/core';

/**
 * The sizes that memory and time depend on. They can be read from the config.json of any decoder, even if the embedded
 * engine does not run it.
 */
export type ModelShape = {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly numLayers: number;
  /** The widths of the query projection, and of keys and values together. */
  readonly queryWidth: number;
  readonly keyValueWidth: number;
  /** The width of all experts that a token uses. */
  readonly innerSize: number;
  readonly contextLength: number;
  /** The number of parameters in the layers, without the norm after them. */
  readonly layerParameters: number;
  /**
   * The number of parameters of the layers that one token uses. It is smaller than `layerParameters` if the model has
   * experts.
   */
  readonly activeParameters: number;
  /** The number of parameters of embedding and head, counted once if they are tied. */
  readonly embeddingParameters: number;
  /** vocabSize x hiddenSize. */
  readonly headParameters: number;
  readonly numParameters: number;
};

/** Throws BackboneError `unsupported_model` if a size is missing. */
export function readModelShape(json: JsonObject): ModelShape {
  const config = textConfigOf(json);
  const count = (key: string, fallback?: number): number => {
    const value = config[key] ?? fallback;
    if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
    throw new BackboneError(
      'unsupported_model',
      `"${key}" of config.json is ${JSON.stringify(value) ?? 'missing'}, so the size of the model is unknown.`,
    );
  };
  const [vocabSize, hiddenSize, numLayers] = [count('vocab_size'), count('hidden_size'), count('num_hidden_layers')];
  const heads = count('num_attention_heads');
  const family = String(config['model_type'] ?? json['model_type']);
  const headDim = count('head_dim', family.startsWith('qwen3') ? 128 : Math.floor(hiddenSize / heads));
  const [queryWidth, keyValueWidth] = [heads * headDim, 2 * count('num_key_value_heads', heads) * headDim];
  const experts = count('num_experts', count('num_local_experts', 1));
  const inner = experts > 1 ? count('moe_intermediate_size', count('intermediate_size')) : count('intermediate_size');
  const innerSize = experts > 1 ? inner * count('num_experts_per_tok', 1) : inner;
  const attention = hiddenSize * (2 * queryWidth + keyValueWidth);
  const vectors = vectorsOfLayer(
    { family, hasBias: config['attention_bias'] === true },
    { hiddenSize, queryWidth, keyValueWidth, headDim },
  );
  const perLayer = (width: number): number => attention + 3 * hiddenSize * width + vectors;
  const headParameters = vocabSize * hiddenSize;
  const isTied = config['tie_word_embeddings'] === true || json['tie_word_embeddings'] === true;
  const embeddingParameters = isTied ? headParameters : 2 * headParameters;
  const layerParameters = numLayers * perLayer(experts * inner);
  return {
    vocabSize,
    hiddenSize,
    numLayers,
    queryWidth,
    keyValueWidth,
    innerSize,
    contextLength: count('max_position_embeddings', 2 ** 20),
    layerParameters,
    activeParameters: numLayers * perLayer(innerSize),
    embeddingParameters,
    headParameters,
    numParameters: layerParameters + embeddingParameters + hiddenSize,
  };
}

type Family = { readonly family: string; readonly hasBias: boolean };

type Widths = Pick<ModelShape, 'hiddenSize' | 'queryWidth' | 'keyValueWidth'> & { readonly headDim: number };

/**
 * Counts norms and biases. Qwen2 always has biases of queries, keys and values. Qwen3 has norms for each head of
 * queries and keys.
 */
function vectorsOfLayer(
  { family, hasBias }: Family,
  { hiddenSize, queryWidth, keyValueWidth, headDim }: Widths,
): number {
  const isQwen2 = family.startsWith('qwen2');
  const biases = (isQwen2 || hasBias ? queryWidth + keyValueWidth : 0) + (!isQwen2 && hasBias ? hiddenSize : 0);
  return 2 * hiddenSize + biases + (family.startsWith('qwen3') ? 2 * headDim : 0);
}
