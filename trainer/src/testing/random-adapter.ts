import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { readModelFolder } from '../model-files/model-folder.js';
import { writeSafetensors } from '../model-files/safetensors.js';

const rank = 2;

/**
 * Writes an adapter (LoRA) in the layout of peft. It changes every module of `modules`, such as `q_proj`, of the model
 * in `baseDir`, and names `baseModel` as its model.
 */
export async function writeRandomAdapter(
  dir: string,
  options: { readonly baseDir: string; readonly baseModel: string; readonly modules: readonly string[] },
): Promise<void> {
  const { next } = createRandom(3);
  const draw = (size: number): Float32Array => Float32Array.from({ length: size }, () => next() - 0.5);
  const { tensors } = await readModelFolder(options.baseDir);
  const changed = [...tensors.values()].filter(({ name }) =>
    options.modules.some((each) => name.endsWith(`.${each}.weight`)),
  );
  const pairs = changed.flatMap(({ name, shape: [numOut = 0, numIn = 0] }) => {
    const module = `base_model.model.${name.slice(0, -'.weight'.length)}`;
    return [
      { name: `${module}.lora_A.weight`, shape: [rank, numIn], data: draw(rank * numIn) },
      { name: `${module}.lora_B.weight`, shape: [numOut, rank], data: draw(numOut * rank) },
    ];
  });
  await mkdir(dir, { recursive: true });
  await writeSafetensors(path.join(dir, 'adapter_model.safetensors'), pairs);
  const config = { peft_type: 'LORA', r: rank, lora_alpha: rank, base_model_name_or_path: options.baseModel };
  await writeFile(path.join(dir, 'adapter_config.json'), JSON.stringify(config));
}
