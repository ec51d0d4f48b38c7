const tiny = {
  model_type: 'qwen2',
  architectures: ['Qwen2ForCausalLM'],
  vocab_size: 61,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  tie_word_embeddings: true,
  hidden_act: 'silu',
};

/** Returns the config.json of a tiny model of the Qwen2 family, with changes. */
export const tinyConfig = (changes: Partial<typeof tiny> = {}): typeof tiny => ({ ...tiny, ...changes });
