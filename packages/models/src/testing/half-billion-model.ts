/** The fields of Qwen2.5-0.5B's config.json that decide its memory and time. */
export const qwen = {
  model_type: 'qwen2',
  hidden_size: 896,
  num_hidden_layers: 24,
  num_attention_heads: 14,
  num_key_value_heads: 2,
  intermediate_size: 4864,
  vocab_size: 151_936,
  tie_word_embeddings: true,
  max_position_embeddings: 32_768,
};
