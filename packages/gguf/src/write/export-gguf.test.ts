import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readModelFolder, readTensorPieces } from '@agentjet/trainer/model-files';
import { exportGguf, openGguf, type ExportType } from '../index.js';
import { readGguf } from '../read-gguf.js';
import { q80Type } from './written-types.js';

const golden = path.join(import.meta.dirname, '../../golden');

let root: string;
let cacheDir: string;
/** A whole model folder. */
let modelDir: string;
beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'export-gguf-'));
  cacheDir = path.join(root, 'cache');
  modelDir = (await openGguf(path.join(golden, 'qwen2.gguf'), { cacheDir })).dir;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function valuesOf(dir: string): Promise<ReadonlyMap<string, Float32Array>> {
  const values = new Map<string, Float32Array>();
  for (const entry of (await readModelFolder(dir)).tensors.values())
    for await (const piece of readTensorPieces(entry, 1 << 24)) values.set(entry.name, piece);
  return values;
}

function largestDifference(left: ReadonlyMap<string, Float32Array>, right: ReadonlyMap<string, Float32Array>): number {
  expect([...left.keys()].toSorted()).toEqual([...right.keys()].toSorted());
  let largest = 0;
  for (const [name, values] of left) {
    const others = right.get(name) ?? new Float32Array(0);
    expect(others.length).toBe(values.length);
    for (const [index, value] of values.entries()) largest = Math.max(largest, Math.abs(value - (others[index] ?? 0)));
  }
  return largest;
}

/** Returns a copy of a model folder in which some files are changed. Null removes a file. */
function changedFolder(
  from: string,
  changes: Readonly<Record<string, (file: Record<string, unknown>) => object>>,
): string {
  const dir = path.join(root, 'changed');
  cpSync(from, dir, { recursive: true });
  for (const [name, change] of Object.entries(changes)) {
    const file = path.join(dir, name);
    writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>)));
  }
  return dir;
}

it('quantizes to Q8_0 as the reference does, bit for bit', () => {
  const all = JSON.parse(readFileSync(path.join(golden, 'types.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  const { blocks = '', values = '' } = all['quantize_Q8_0'] ?? {};
  const bytes = Buffer.from(values, 'base64');
  const rows = new Float32Array(bytes.length / 4);
  new Uint8Array(rows.buffer).set(bytes);
  expect(Buffer.from(q80Type.encode(rows)).toString('base64')).toBe(blocks);
});

describe.each(['llama', 'qwen2', 'qwen3'])('a %s folder', (architecture) => {
  it.each<{ readonly type: ExportType; readonly error: number }>([
    { type: 'f16', error: 2e-4 },
    { type: 'q8_0', error: 3e-3 },
  ])('comes back from a $type file as it was, but for the rounding', async ({ type, error }) => {
    const { dir } = await openGguf(path.join(golden, `${architecture}.gguf`), { cacheDir });
    const { file, numBytes } = await exportGguf(dir, path.join(root, 'agent.gguf'), { type });
    expect(numBytes).toBe(readFileSync(file).length);
    const again = await openGguf(file, { cacheDir });
    const difference = largestDifference(await valuesOf(dir), await valuesOf(again.dir));
    expect(difference).toBeLessThan(error);
    expect(again.source.quantized).toBe(type === 'q8_0');
    for (const name of ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'])
      expect(readFileSync(path.join(again.dir, name), 'utf8')).toBe(readFileSync(path.join(dir, name), 'utf8'));
    const config = (folder: string): unknown => ({
      ...(JSON.parse(readFileSync(path.join(folder, 'config.json'), 'utf8')) as object),
      torch_dtype: null,
    });
    expect(config(again.dir)).toEqual(config(dir));
  });
});

it('writes the name, a token for each row, and frequencies of Llama 3', async () => {
  const dir = changedFolder(modelDir, {
    'config.json': (config) => ({
      ...config,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 8192,
      },
    }),
  });
  const { file } = await exportGguf(dir, path.join(root, 'tiny.gguf'), { type: 'f16', name: 'tiny' });
  const { metadata, tensors } = await readGguf(file);
  expect(metadata.get('general.name')).toBe('tiny');
  expect(metadata.get('tokenizer.ggml.pre')).toBe('qwen2');
  expect((metadata.get('tokenizer.ggml.tokens') as readonly string[]).length).toBe(264);
  expect(tensors.get('rope_freqs.weight')?.shape).toEqual([4]);
  const { dir: again } = await openGguf(file, { cacheDir });
  const config = JSON.parse(readFileSync(path.join(again, 'config.json'), 'utf8')) as Record<string, unknown>;
  expect(config['rope_scaling']).toEqual({
    rope_type: 'llama3',
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  });
});

describe('it refuses, and writes nothing', () => {
  const refusal = async (dir: string, target = 'out.gguf'): Promise<string> => {
    const file = path.join(root, target);
    const before = existsSync(file);
    const error: unknown = await exportGguf(dir, file, { type: 'f16' }).catch((thrown: unknown) => thrown);
    expect(existsSync(file)).toBe(before);
    expect(readdirSync(root).filter((name) => name.startsWith('.'))).toEqual([]);
    return String(error);
  };

  it('another architecture, and keys that GGUF cannot say', async () => {
    const withKey = (key: string, value: unknown): string =>
      changedFolder(modelDir, { 'config.json': (config) => ({ ...config, [key]: value }) });
    expect(await refusal(withKey('model_type', 'gemma3'))).toContain(
      '"model_type" in config.json is "gemma3"; it can be llama',
    );
    expect(await refusal(withKey('use_sliding_window', true))).toContain('"use_sliding_window" in config.json is true');
    expect(await refusal(withKey('rope_scaling', { rope_type: 'longrope' }))).toContain(
      'of type default, linear, yarn or llama3',
    );
  });

  it('another tokenizer, and one without an end', async () => {
    const other = changedFolder(modelDir, {
      'tokenizer.json': (tokenizer) => ({ ...tokenizer, pre_tokenizer: { type: 'Whitespace' } }),
    });
    expect(await refusal(other)).toContain(
      'cannot be written as GGUF: only byte-level BPE that splits text by one of these rules can: qwen2, smollm',
    );
    const endless = changedFolder(modelDir, {
      'tokenizer_config.json': (config) => ({ ...config, eos_token: null }),
      'generation_config.json': () => ({}),
      'config.json': (config) => ({ ...config, eos_token_id: null }),
    });
    expect(await refusal(endless)).toContain('does not say which token ends an answer');
  });

  it.each([
    ['f16', 1e5, 'which float16 cannot hold. Export with --type q8_0'],
    ['q8_0', 1e8, 'which Q8_0 cannot hold. Export a folder instead'],
    ['f16', 1e8, 'which float16 cannot hold. Export a folder instead'],
  ] as const)('to write as %s the number %d', async (type, value, message) => {
    const dir = changedFolder(modelDir, {});
    const entry = (await readModelFolder(dir)).tensors.get('model.layers.0.self_attn.o_proj.weight');
    if (entry === undefined) throw new Error('The model has no such tensor.');
    const bytes = readFileSync(entry.file);
    bytes.writeFloatLE(value, entry.start);
    writeFileSync(entry.file, bytes);
    await expect(exportGguf(dir, path.join(root, 'large.gguf'), { type })).rejects.toThrow(
      `self_attn.o_proj.weight" holds ${value}, ${message}`,
    );
  });

  it('a file that is there', async () => {
    writeFileSync(path.join(root, 'here.gguf'), 'mine');
    expect(await refusal(modelDir, 'here.gguf')).toContain('here.gguf is there already. Name a new file.');
    expect(readFileSync(path.join(root, 'here.gguf'), 'utf8')).toBe('mine');
  });

  it('to write after the signal', async () => {
    const target = path.join(root, 'stopped.gguf');
    await expect(exportGguf(modelDir, target, { type: 'f16', signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(readdirSync(root)).toEqual(['cache']);
  });
});
