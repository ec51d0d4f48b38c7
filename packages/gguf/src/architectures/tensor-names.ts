/**
 * Converts names of tensors: `blk.3.attn_q.weight` in GGUF is `model.layers.3.self_attn.q_proj.weight` in a model
 * folder.
 */

export const embeddingTensor = 'token_embd.weight';
export const headTensor = 'output.weight';
/** The tensor with llama3's frequency factors. A model folder has these factors in config.json. */
export const frequencyTensor = 'rope_freqs.weight';

export const embeddingWeight = 'model.embed_tokens.weight';
export const headWeight = 'lm_head.weight';

const wholes: readonly (readonly [gguf: string, folder: string])[] = [
  [embeddingTensor, embeddingWeight],
  ['output_norm.weight', 'model.norm.weight'],
  [headTensor, headWeight],
];

const ofLayers: readonly (readonly [gguf: string, folder: string])[] = [
  ['attn_norm', 'input_layernorm'],
  ['attn_q', 'self_attn.q_proj'],
  ['attn_k', 'self_attn.k_proj'],
  ['attn_v', 'self_attn.v_proj'],
  ['attn_q_norm', 'self_attn.q_norm'],
  ['attn_k_norm', 'self_attn.k_norm'],
  ['attn_output', 'self_attn.o_proj'],
  ['ffn_norm', 'post_attention_layernorm'],
  ['ffn_gate', 'mlp.gate_proj'],
  ['ffn_up', 'mlp.up_proj'],
  ['ffn_down', 'mlp.down_proj'],
];

/** Undefined for a tensor that these models do not have. */
export function toFolderName(name: string): string | undefined {
  const [, layer, part, kind] = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name) ?? [];
  const folderPart = ofLayers.find(([gguf]) => gguf === part)?.[1];
  if (folderPart !== undefined) return `model.layers.${layer}.${folderPart}.${kind}`;
  return wholes.find(([gguf]) => gguf === name)?.[1];
}

/** Undefined for a tensor that these models do not have. */
export function toGgufName(name: string): string | undefined {
  const [, layer, part, kind] = /^model\.layers\.(\d+)\.([\w.]+)\.(weight|bias)$/.exec(name) ?? [];
  const ggufPart = ofLayers.find(([, folder]) => folder === part)?.[0];
  if (ggufPart !== undefined) return `blk.${layer}.${ggufPart}.${kind}`;
  return wholes.find(([, folder]) => folder === name)?.[0];
}
