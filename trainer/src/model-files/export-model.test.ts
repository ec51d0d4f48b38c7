import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportModel, readBaseModel } from './export-model.js';
import { readModelFolder, readTensor, writeModelFolder } from './model-folder.js';
import { type NamedTensor, writeSafetensors } from './safetensors.js';

let root: string;
let target: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'export-model-'));
  target = path.join(root, 'out');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const weight: NamedTensor = { name: 'layer.weight', shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) };
const other: NamedTensor = { name: 'norm.weight', shape: [2], data: Float32Array.of(7, 8) };
const loraA: NamedTensor = {
  name: 'base_model.model.layer.lora_A.weight',
  shape: [1, 3],
  data: Float32Array.of(1, 0, -1),
};
const loraB: NamedTensor = {
  name: 'base_model.model.layer.lora_B.weight',
  shape: [2, 1],
  data: Float32Array.of(10, 0.5),
};
const settings = { peft_type: 'LORA', r: 1, lora_alpha: 2, base_model_name_or_path: 'org/base', modules_to_save: null };

async function writeBase(): Promise<string> {
  const dir = path.join(root, 'base');
  await writeModelFolder(dir, { config: { model_type: 'qwen2' }, tensors: [weight, other] });
  await writeFile(path.join(dir, 'tokenizer.json'), '{"base":true}');
  await mkdir(path.join(dir, 'trainer_state'));
  await writeFile(path.join(dir, 'trainer_state/moments'), 'large');
  await writeFile(path.join(dir, 'state.json'), '{}');
  return dir;
}

async function writeAdapter(changed: object = {}, tensors: readonly NamedTensor[] = [loraA, loraB]): Promise<string> {
  const dir = path.join(root, 'adapter');
  await mkdir(dir);
  await writeFile(path.join(dir, 'adapter_config.json'), JSON.stringify({ ...settings, ...changed }));
  await writeFile(path.join(dir, 'tokenizer.json'), '{"base":false}');
  await writeSafetensors(path.join(dir, 'adapter_model.safetensors'), tensors);
  return dir;
}

async function read(name: string, shape: readonly number[]): Promise<readonly number[]> {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  await readTensor(await readModelFolder(target), { name, shape, data });
  return [...data];
}

it('leaves out what belongs to the trainer alone', async () => {
  expect(await exportModel(await writeBase(), target)).toEqual({ dir: target, numBytes: 32, numMerged: 0 });
  expect((await readdir(target)).sort()).toEqual(['config.json', 'model.safetensors', 'tokenizer.json']);
  expect(await read('layer.weight', [2, 3])).toEqual([1, 2, 3, 4, 5, 6]);
});

describe('an adapter', () => {
  it('is merged into the weights that it changes, with the tokenizer it was trained with', async () => {
    const adapter = await writeAdapter();
    expect(await readBaseModel(adapter)).toBe('org/base');
    expect(await exportModel(adapter, target, { baseDir: await writeBase() })).toMatchObject({ numMerged: 1 });
    expect(await read('layer.weight', [2, 3])).toEqual([21, 2, -17, 5, 5, 5]);
    expect(await read('norm.weight', [2])).toEqual([7, 8]);
    expect(await readFile(path.join(target, 'tokenizer.json'), 'utf8')).toBe('{"base":false}');
    expect(await readdir(target)).not.toContain('adapter_config.json');
  });

  it('scales by the root of its rank if it says so', async () => {
    const a = { ...loraA, shape: [4, 3], data: new Float32Array(12).fill(1) };
    const b = { ...loraB, shape: [2, 4], data: new Float32Array(8).fill(1) };
    const adapter = await writeAdapter({ r: 4, use_rslora: true }, [a, b]);
    await exportModel(adapter, target, { baseDir: await writeBase() });
    expect(await read('layer.weight', [2, 3])).toEqual([5, 6, 7, 8, 9, 10]);
  });

  it('without the name of its model is merged into the model that --base names', async () => {
    const adapter = await writeAdapter({ base_model_name_or_path: null });
    await expect(readBaseModel(adapter)).rejects.toThrow('"base_model_name_or_path" is missing. Merge the adapter');
    await expect(exportModel(adapter, target)).rejects.toThrow('"base_model_name_or_path" is missing');
    expect(await exportModel(adapter, target, { baseDir: await writeBase() })).toMatchObject({ numMerged: 1 });
  });

  it('that was saved without safetensors is refused by name', async () => {
    const adapter = await writeAdapter();
    await rename(path.join(adapter, 'adapter_model.safetensors'), path.join(adapter, 'adapter_model.bin'));
    await expect(readBaseModel(adapter)).rejects.toThrow('only adapter_model.bin is there. Save the adapter again');
  });

  it('is merged if it only says how it began', async () => {
    const initial = { init_lora_weights: 'gaussian', bias: 'none', use_dora: false, eva_config: {}, lora_dropout: 0.1 };
    expect(await exportModel(await writeAdapter(initial), target, { baseDir: await writeBase() })).toMatchObject({
      numMerged: 1,
    });
  });

  it.each([
    ['another kind', { peft_type: 'IA3' }, '"peft_type" is "IA3"; only LORA can be merged here'],
    ['what is more than a product', { use_dora: true }, '"use_dora" is set, which only peft itself can merge'],
    ['ranks by layer', { rank_pattern: { layer: 3 } }, '"rank_pattern" is set'],
    ['tokens that turn it on', { alora_invocation_tokens: [1, 2] }, '"alora_invocation_tokens" is set'],
    ['a setting of a newer peft', { use_anything: true }, '"use_anything" is set'],
    ['biases', { bias: 'lora_only' }, '"bias" is set'],
    ['a model that PiSSA changed', { init_lora_weights: 'pissa_niter_4' }, 'belongs to weights that peft has changed'],
    ['a model that OLoRA changed', { init_lora_weights: 'olora' }, 'path_initial_model_for_weight_conversion'],
    ['no rank', { r: undefined }, '"r" or "lora_alpha" is missing'],
    ['a rank of 0', { r: 0 }, '"r" is 0; a rank is a whole number above 0'],
    ['a negative rank', { r: -1 }, '"r" is -1; a rank is a whole number above 0'],
    [
      'another rank than its tensors',
      { r: 4 },
      'has rank 1 (lora_A) and 1 (lora_B), but "r" in adapter_config.json is 4',
    ],
    ['an empty name of its model', { base_model_name_or_path: '' }, '"base_model_name_or_path" is missing'],
  ])('is refused with %s', async (_, changed, message) => {
    await expect(exportModel(await writeAdapter(changed), target)).rejects.toThrow(message);
  });

  it('says that the head of a tied model is its embedding, and does not blame --base', async () => {
    const baseDir = await writeBase();
    const head = [loraA, loraB].map((each) => ({ ...each, name: each.name.replace('layer', 'lm_head') }));
    await writeFile(path.join(baseDir, 'config.json'), JSON.stringify({ tie_word_embeddings: true }));
    const thrown: unknown = await exportModel(await writeAdapter({}, head), target, { baseDir }).catch(
      (error: unknown) => error,
    );
    expect(String(thrown)).toContain('the head and the embedding of this model are one tensor (tie_word_embeddings)');
    expect(String(thrown)).not.toContain('--base');
  });

  it.each([
    ['the first half of a pair alone', [loraA], 'is not half of a pair'],
    ['the second half of a pair alone', [loraB], 'is not half of a pair'],
    ['no tensors', [], 'it has no tensors, so the adapter would change nothing'],
    ['a NaN', [{ ...loraA, data: Float32Array.of(1, Number.NaN, 0) }, loraB], 'lora_A.weight" contains NaN'],
    ['an infinite value', [loraA, { ...loraB, data: Float32Array.of(-Infinity, 0) }], 'contains -Infinity'],
  ])('with %s is refused, and nothing is written', async (_, tensors, message) => {
    const adapter = await writeAdapter({}, tensors);
    await expect(exportModel(adapter, target, { baseDir: await writeBase() })).rejects.toThrow(message);
    await expect(readdir(target)).rejects.toThrow('ENOENT');
  });

  it('is refused for another model, and nothing is written', async () => {
    const baseDir = await writeBase();
    const wide = { ...loraA, shape: [1, 4], data: new Float32Array(4) };
    await expect(exportModel(await writeAdapter({}, [wide, loraB]), target, { baseDir })).rejects.toThrow(
      'it changes "layer.weight" of shape [2, 4], which is [2, 3] in the model',
    );
    await rm(path.join(root, 'adapter'), { recursive: true });
    const foreign = [loraA, loraB].map((each) => ({ ...each, name: each.name.replace('layer', 'lm_head') }));
    await expect(exportModel(await writeAdapter({}, foreign), target, { baseDir })).rejects.toThrow(
      'it changes "lm_head.weight", which the model does not have',
    );
    await expect(readdir(target)).rejects.toThrow('ENOENT');
  });
});

it('overwrites no folder that holds something', async () => {
  const base = await writeBase();
  await cp(base, target, { recursive: true });
  await expect(exportModel(base, target)).rejects.toThrow('is not empty. Name a new folder.');
});
