/**
 * The three models of the comparison, as config.json: Qwen2-shaped, with tied embeddings and biases on query, key and
 * value.
 */

export type Size = '0.85M' | '4.8M' | '19M';

type Dims = {
  readonly vocab: number;
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly head: number;
  readonly inner: number;
};

const dims: { readonly [size in Size]: Dims } = {
  '0.85M': { vocab: 512, hidden: 128, layers: 4, heads: 4, kvHeads: 2, head: 32, inner: 384 },
  '4.8M': { vocab: 2048, hidden: 256, layers: 6, heads: 8, kvHeads: 2, head: 32, inner: 704 },
  '19M': { vocab: 4096, hidden: 512, layers: 6, heads: 8, kvHeads: 2, head: 64, inner: 1408 },
};

export const sizes = ['0.85M', '4.8M', '19M'] as const satisfies readonly Size[];

export function configOf(size: Size): { readonly [key: string]: string | number | boolean } {
  const { vocab, hidden, layers, heads, kvHeads, head, inner } = dims[size];
  return {
    model_type: 'qwen2',
    vocab_size: vocab,
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: head,
    intermediate_size: inner,
    max_position_embeddings: 1024,
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    tie_word_embeddings: true,
  };
}
