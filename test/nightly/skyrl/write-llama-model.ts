import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseJsonObject } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';

/**
 * Writes the nano model as a Llama, because SkyRL supports Llama and not Qwen2. The weights are the same, without the
 * biases of the attention.
 */
export async function writeLlamaModel(dir: string): Promise<string> {
  await cp(nanoModelDir, dir, { recursive: true });
  const file = path.join(dir, 'config.json');
  const qwen = parseJsonObject(await readFile(file, 'utf8'));
  const llama = { ...qwen, model_type: 'llama', architectures: ['LlamaForCausalLM'], attention_bias: false };
  await writeFile(file, JSON.stringify(llama, null, 2));
  return dir;
}
