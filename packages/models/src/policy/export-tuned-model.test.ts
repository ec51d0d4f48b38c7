import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nanoModelDir } from '@agentjet/nano';
import { writeTensorsInPieces } from '@agentjet/trainer/model-files';
import { exportTunedModel } from './export-tuned-model.js';
import { openTunedModel } from './answering-models.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'export-'));
});
afterEach(() => rmSync(root, { recursive: true }));

it('writes a folder that opens again', async () => {
  const target = path.join(root, 'model');
  expect(await exportTunedModel('nano', target)).toMatchObject({ dir: target, numMerged: 0 });
  expect(readdirSync(target)).toContain('tokenizer.json');
  const tuned = await openTunedModel(target, { maxTokens: 4, numThreads: 1 });
  await tuned.close();
});

it('refuses a folder that is not there', async () => {
  await expect(exportTunedModel(path.join(root, 'none'), path.join(root, 'model'))).rejects.toThrow(
    'There is no checkpoint',
  );
});

it('stops at the signal, and leaves nothing', async () => {
  const target = path.join(root, 'model');
  const stopped = exportTunedModel('nano', target, { signal: AbortSignal.abort() });
  await expect(stopped).rejects.toMatchObject({ code: 'aborted', message: expect.stringContaining(target) });
  expect(readdirSync(root)).toEqual([]);
});

describe('a target that ends in .gguf', () => {
  it('is one file, with the template that a folder would have, and opens again', async () => {
    const target = path.join(root, 'agent.gguf');
    const { dir, numBytes } = await exportTunedModel('nano', target);
    expect(dir).toBe(target);
    expect(readFileSync(target).length).toBe(numBytes);
    expect(readdirSync(root)).toEqual(['agent.gguf']);
    const small = await exportTunedModel('nano', path.join(root, 'small.gguf'), { type: 'q8_0' });
    expect(small.numBytes).toBeLessThan(numBytes);
    vi.stubEnv('XDG_CACHE_HOME', path.join(root, 'cache'));
    const tuned = await openTunedModel(target, { maxTokens: 4, numThreads: 1 });
    await tuned.close();
    vi.unstubAllEnvs();
  });

  it('merges an adapter first', async () => {
    const adapter = path.join(root, 'adapter');
    mkdirSync(adapter);
    const settings = { peft_type: 'LORA', r: 1, lora_alpha: 1, base_model_name_or_path: nanoModelDir };
    writeFileSync(path.join(adapter, 'adapter_config.json'), JSON.stringify(settings));
    const name = 'base_model.model.model.layers.0.self_attn.o_proj';
    await writeTensors(path.join(adapter, 'adapter_model.safetensors'), [
      { name: `${name}.lora_A.weight`, shape: [1, 96] },
      { name: `${name}.lora_B.weight`, shape: [96, 1] },
    ]);
    expect(await exportTunedModel(adapter, path.join(root, 'merged.gguf'))).toMatchObject({ numMerged: 1 });
    expect(readdirSync(root).toSorted()).toEqual(['adapter', 'merged.gguf']);
  });

  it('has a type that there is, and a folder has none', async () => {
    const target = path.join(root, 'agent.gguf');
    await expect(exportTunedModel('nano', target, { type: 'q4_k' })).rejects.toThrow(
      '--type is "q4_k"; GGUF files are written as f16 or q8_0.',
    );
    await expect(exportTunedModel('nano', path.join(root, 'model'), { type: 'f16' })).rejects.toThrow(
      '--type f16 is for a file, such as agent.gguf.',
    );
    expect(readdirSync(root)).toEqual([]);
  });

  it('is never overwritten, and is not there after the signal or a refusal, which names the model', async () => {
    const target = path.join(root, 'agent.gguf');
    writeFileSync(target, 'mine');
    await expect(exportTunedModel('nano', target)).rejects.toThrow('is there already. Name a new file.');
    rmSync(target);
    const signal = AbortSignal.abort();
    await expect(exportTunedModel('nano', target, { signal })).rejects.toMatchObject({ code: 'aborted' });
    const model = path.join(root, 'model');
    await exportTunedModel('nano', model);
    writeFileSync(path.join(model, 'config.json'), '{"model_type":"gemma3"}');
    await expect(exportTunedModel(model, target)).rejects.toThrow(`${model} cannot be written as GGUF: "model_type"`);
    expect(readdirSync(root)).toEqual(['model']);
  });
});

async function writeTensors(
  file: string,
  tensors: readonly { readonly name: string; readonly shape: readonly number[] }[],
): Promise<void> {
  const bytes = (shape: readonly number[]): Uint8Array =>
    new Uint8Array(new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(0.01).buffer);
  const planned = tensors.map(({ name, shape }) => ({
    name,
    shape,
    dtype: 'F32' as const,
    pieces: () => [bytes(shape)],
  }));
  await writeTensorsInPieces(file, planned);
}
