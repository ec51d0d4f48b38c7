import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { createChatTokenizerFiles, type TemplateFamily } from '@agentjet/tokenizer/testing';
import { writeModelFolder } from '@agentjet/trainer';

/** The model has two layers of width 32, so it answers in milliseconds. */
const shape = { hidden: 32, layers: 2, heads: 4, kvHeads: 2, headDim: 8, intermediate: 48 } as const;

function createConfig(vocabSize: number, turnEnd: number, contextLength: number): Record<string, unknown> {
  return {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    hidden_act: 'silu',
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    max_position_embeddings: contextLength,
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    tie_word_embeddings: true,
    vocab_size: vocabSize,
    eos_token_id: turnEnd,
  };
}

function listShapes(vocabSize: number): readonly (readonly [name: string, shape: readonly number[]])[] {
  const { hidden, heads, kvHeads, headDim, intermediate } = shape;
  const layer = (index: number): readonly (readonly [string, readonly number[]])[] => [
    [`model.layers.${index}.input_layernorm.weight`, [hidden]],
    [`model.layers.${index}.self_attn.q_proj.weight`, [heads * headDim, hidden]],
    [`model.layers.${index}.self_attn.q_proj.bias`, [heads * headDim]],
    [`model.layers.${index}.self_attn.k_proj.weight`, [kvHeads * headDim, hidden]],
    [`model.layers.${index}.self_attn.k_proj.bias`, [kvHeads * headDim]],
    [`model.layers.${index}.self_attn.v_proj.weight`, [kvHeads * headDim, hidden]],
    [`model.layers.${index}.self_attn.v_proj.bias`, [kvHeads * headDim]],
    [`model.layers.${index}.self_attn.o_proj.weight`, [hidden, heads * headDim]],
    [`model.layers.${index}.post_attention_layernorm.weight`, [hidden]],
    [`model.layers.${index}.mlp.gate_proj.weight`, [intermediate, hidden]],
    [`model.layers.${index}.mlp.up_proj.weight`, [intermediate, hidden]],
    [`model.layers.${index}.mlp.down_proj.weight`, [hidden, intermediate]],
  ];
  const layers = Array.from({ length: shape.layers }, (_, index) => layer(index)).flat();
  return [['model.embed_tokens.weight', [vocabSize, hidden]], ...layers, ['model.norm.weight', [hidden]]];
}

/**
 * Makes a model folder in the Hugging Face layout, with random weights and a small byte-level tokenizer. The weights
 * are several times as wide as those of a fresh model (`writeRandomModelFolder`), whose greedy answers would repeat the
 * last token of the prompt.
 */
export async function writeTinyModel(
  dir: string,
  family: TemplateFamily = 'chatml',
  contextLength = 512,
  seed = 7,
): Promise<string> {
  const { tokenizerJson, tokenizerConfig } = createChatTokenizerFiles(family);
  const { added_tokens: added } = tokenizerJson as { added_tokens: readonly { id: number; content: string }[] };
  const vocabSize = Math.max(...added.map(({ id }) => id)) + 1;
  const turnEnd = added.find(({ content }) => content === '<|im_end|>')?.id ?? 0;
  const random = createRandom(seed);
  const fill = (name: string, size: number): Float32Array =>
    Float32Array.from({ length: size }, () => (name.endsWith('norm.weight') ? 1 : (random.next() - 0.5) * 0.4));
  const tensors = listShapes(vocabSize).map(([name, dims]) => ({
    name,
    shape: dims,
    data: fill(
      name,
      dims.reduce((product, dim) => product * dim, 1),
    ),
  }));
  await mkdir(path.dirname(dir), { recursive: true });
  await writeModelFolder(dir, {
    config: createConfig(vocabSize, turnEnd, contextLength),
    tensors,
    writeMore: async (temporary) => {
      await writeFile(path.join(temporary, 'tokenizer.json'), JSON.stringify(tokenizerJson));
      await writeFile(path.join(temporary, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
    },
  });
  return dir;
}
