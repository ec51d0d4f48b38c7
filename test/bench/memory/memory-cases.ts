/** A model shape, and the work that a process does with it. */
export type MemoryCase = {
  readonly name: string;
  /** The content of config.json; null is nano. */
  readonly shape: Readonly<Record<string, unknown>> | null;
  readonly trains: boolean;
  /** Whether the loss has a KL term. If so, the weights are in memory a second time. */
  readonly kl: boolean;
  /** Groups of one step, and episodes that share a group's prompt. */
  readonly groups: number;
  readonly episodes: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  /**
   * The number of tokens that each call really samples. It is smaller than `answerTokens` if the case needs only the
   * memory for a longer answer.
   */
  readonly sampledTokens: number;
  readonly packTokens: number;
  /** The rank of the trained adapters. 0 if all weights are trained. */
  readonly loraRank: number;
  /** How weights that no step changes are stored. */
  readonly format: 'float32' | 'float16' | 'int8';
  /**
   * Whether later steps have smaller trees. Layers are kept for the backward pass of a small tree, and those of a large
   * tree are computed again.
   */
  readonly hasSmallTrees: boolean;
};

const llama = {
  model_type: 'llama',
  hidden_act: 'silu',
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  tie_word_embeddings: true,
  max_position_embeddings: 4096,
};
/** 31.5 M parameters, most of them in the embedding. */
const llama30M = {
  ...llama,
  hidden_size: 384,
  num_hidden_layers: 8,
  num_attention_heads: 6,
  num_key_value_heads: 2,
  intermediate_size: 1024,
  vocab_size: 49_152,
};
/** SmolLM2-135M. */
const llama135M = {
  ...llama,
  hidden_size: 576,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  intermediate_size: 1536,
  vocab_size: 49_152,
};
/** Qwen2.5-0.5B. */
const qwen500M = {
  ...llama,
  model_type: 'qwen2',
  rope_theta: 1_000_000,
  hidden_size: 896,
  num_hidden_layers: 24,
  num_attention_heads: 14,
  num_key_value_heads: 2,
  intermediate_size: 4864,
  vocab_size: 151_936,
};

/** The shapes of real models, by their size. */
export const shapes = { '30M': llama30M, '135M': llama135M, '0.5B': qwen500M };

export type Work = readonly [
  groups: number,
  episodes: number,
  promptTokens: number,
  answerTokens: number,
  sampled: number,
];

export function createCase(
  model: string,
  [groups, episodes, promptTokens, answerTokens, sampledTokens]: Work,
  {
    shape,
    trains = true,
    kl = false,
    loraRank = 0,
    format = 'float32',
    hasSmallTrees = true,
  }: Pick<MemoryCase, 'shape'> & Partial<MemoryCase>,
): MemoryCase {
  const episodesText = episodes === 1 ? 'rows' : `groups of ${episodes}`;
  const work = `${groups} ${episodesText}, ${promptTokens} + ${answerTokens} tokens`;
  const training = loraRank > 0 ? `training LoRA of rank ${loraRank}` : 'training';
  const doing = trains ? (kl ? `${training} with KL` : training) : 'sampling';
  return {
    name: `${model}, ${doing}${format === 'float32' ? '' : ` in ${format}`}, ${work}`,
    shape,
    trains,
    kl,
    groups,
    episodes,
    promptTokens,
    answerTokens,
    sampledTokens,
    packTokens: 4096,
    loraRank,
    format,
    hasSmallTrees,
  };
}

/** Quick cases come first, so a benchmark that is stopped has measured something. */
export const memoryCases: readonly MemoryCase[] = [
  createCase('nano', [2, 4, 100, 50, 20], { shape: null }),
  createCase('nano', [8, 8, 1024, 100, 20], { shape: null }),
  createCase('nano', [2, 1, 1024, 1024, 4], { shape: null, kl: true }),
  createCase('30M', [4, 4, 512, 107, 16], { shape: llama30M, trains: false }),
  createCase('30M', [2, 1, 256, 256, 8], { shape: llama30M }),
  createCase('30M', [4, 1, 128, 128, 4], { shape: llama30M, kl: true }),
  createCase('30M', [3, 8, 512, 107, 8], { shape: llama30M }),
  createCase('30M', [1, 1, 1536, 512, 4], { shape: llama30M }),
  createCase('30M', [2, 8, 1024, 380, 4], { shape: llama30M }),
  createCase('30M', [2, 1, 256, 256, 8], { shape: llama30M, loraRank: 16 }),
  createCase('30M', [3, 8, 512, 107, 8], { shape: llama30M, loraRank: 16, kl: true }),
  createCase('30M', [3, 8, 512, 107, 8], { shape: llama30M, loraRank: 16, format: 'int8' }),
  createCase('135M', [4, 4, 512, 107, 8], { shape: llama135M, trains: false }),
  createCase('135M', [4, 4, 512, 107, 107], { shape: llama135M, trains: false, format: 'int8' }),
  createCase('135M', [2, 1, 256, 256, 4], { shape: llama135M }),
  createCase('135M', [3, 8, 512, 107, 4], { shape: llama135M }),
  createCase('135M', [2, 1, 256, 256, 4], { shape: llama135M, loraRank: 16 }),
  createCase('135M', [3, 8, 512, 107, 4], { shape: llama135M, loraRank: 16 }),
  createCase('135M', [2, 1, 256, 256, 4], { shape: llama135M, loraRank: 16, format: 'float16' }),
  createCase('135M', [2, 1, 256, 256, 4], { shape: llama135M, loraRank: 16, format: 'int8' }),
  createCase('135M', [3, 8, 512, 107, 4], { shape: llama135M, loraRank: 16, format: 'int8' }),
  createCase('0.5B', [2, 4, 512, 16, 4], { shape: qwen500M, trains: false }),
  createCase('0.5B', [2, 4, 512, 16, 4], { shape: qwen500M, trains: false, format: 'int8' }),
  createCase('0.5B', [32, 1, 512, 107, 107], { shape: qwen500M, trains: false, format: 'int8' }),
  createCase('0.5B', [3, 8, 512, 107, 2], { shape: qwen500M, loraRank: 16, format: 'int8' }),
];
