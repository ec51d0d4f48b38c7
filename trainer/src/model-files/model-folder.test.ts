import { mkdir, mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readModelFolder, readTensor, writeModelFolder } from './model-folder.js';
import { writeSafetensors } from './safetensors.js';
import type { NamedTensor } from './safetensors.js';
import { problemOf } from '../testing/problem-of.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'model-folder-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const matrix: NamedTensor = { name: 'matrix', shape: [2, 3], data: Float32Array.of(1, -2, 3.5, 4, 5e-20, 6) };
const vector: NamedTensor = { name: 'vector', shape: [2], data: Float32Array.of(7, 8) };
const config = { model_type: 'qwen2', hidden_size: 3 };

async function modelDir(): Promise<string> {
  const dir = path.join(root, 'model');
  await writeModelFolder(dir, { config, tensors: [matrix, vector] });
  return dir;
}

async function readBack(dir: string, { name, shape, data }: NamedTensor): Promise<Float32Array> {
  const into = new Float32Array(data.length);
  await readTensor(await readModelFolder(dir), { name, shape, data: into });
  return into;
}

/** Writes a safetensors file of 16-bit tensors. The project itself never writes one. */
async function writeHalves(file: string, dtype: string, halves: Uint16Array): Promise<void> {
  const header = Buffer.from(
    JSON.stringify({ halves: { dtype, shape: [halves.length], data_offsets: [0, halves.byteLength] } }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeFile(file, Buffer.concat([length, header, Buffer.from(halves.buffer)]));
}

describe('reading and writing', () => {
  test('what is written is read back, to the last bit', async () => {
    const dir = await modelDir();
    expect(await readBack(dir, matrix)).toEqual(matrix.data);
    expect(await readBack(dir, vector)).toEqual(vector.data);
    expect((await readModelFolder(dir)).config).toEqual(config);
  });

  test('shards are found through their index', async () => {
    const dir = path.join(root, 'sharded');
    await mkdir(dir);
    await writeFile(path.join(dir, 'config.json'), '{}');
    await writeSafetensors(path.join(dir, 'one.safetensors'), [matrix]);
    await writeSafetensors(path.join(dir, 'two.safetensors'), [vector]);
    await writeFile(
      path.join(dir, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: { matrix: 'one.safetensors', vector: 'two.safetensors' } }),
    );
    expect(await readBack(dir, matrix)).toEqual(matrix.data);
    expect(await readBack(dir, vector)).toEqual(vector.data);
  });

  test.each([
    { dtype: 'BF16', halves: [0x3f80, 0xc020, 0x0000, 0x7f80], values: [1, -2.5, 0, Infinity] },
    { dtype: 'F16', halves: [0x3c00, 0xc100, 0x0001, 0x7bff, 0xfc00], values: [1, -2.5, 2 ** -24, 65504, -Infinity] },
  ])('$dtype becomes float32', async ({ dtype, halves, values }) => {
    const dir = await modelDir();
    await writeHalves(path.join(dir, 'model.safetensors'), dtype, Uint16Array.from(halves));
    expect(
      Array.from(await readBack(dir, { name: 'halves', shape: [values.length], data: Float32Array.from(values) })),
    ).toEqual(values);
  });

  test('tokenizer files come along, other files stay', async () => {
    const from = await modelDir();
    for (const name of [
      'tokenizer.json',
      'tokenizer_config.json',
      'chat_template.jinja',
      'notes.json',
      'model-00001.bin',
    ])
      await writeFile(path.join(from, name), name);
    const dir = path.join(root, 'copy');
    await writeModelFolder(dir, { config, tensors: [vector], companionsFrom: from });
    expect((await readdir(dir)).toSorted()).toEqual([
      'chat_template.jinja',
      'config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
  });
});

describe('bad model files are named', () => {
  test('no folder', async () => {
    expect(await problemOf(readModelFolder(path.join(root, 'nowhere')))).toContain(
      `bad_model_files: There is no model folder at ${path.join(root, 'nowhere')}`,
    );
  });

  test('a missing or broken config.json', async () => {
    const dir = await modelDir();
    await writeFile(path.join(dir, 'config.json'), '{ "hidden_size": ');
    expect(await problemOf(readModelFolder(dir))).toContain('config.json: it is not JSON');
    await rm(path.join(dir, 'config.json'));
    expect(await problemOf(readModelFolder(dir))).toContain('config.json: the file is missing');
  });

  test('missing weights, and a missing shard', async () => {
    const dir = await modelDir();
    await rm(path.join(dir, 'model.safetensors'));
    expect(await problemOf(readModelFolder(dir))).toContain(
      'neither model.safetensors nor model.safetensors.index.json',
    );
    await writeFile(
      path.join(dir, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: { matrix: 'one.safetensors' } }),
    );
    expect(await problemOf(readModelFolder(dir))).toContain('there is no one.safetensors in');
    await writeFile(
      path.join(dir, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: { matrix: '../one.safetensors' } }),
    );
    expect(await problemOf(readModelFolder(dir))).toContain('names "../one.safetensors" as a file');
  });

  test('a folder in the place of a file', async () => {
    const dir = await modelDir();
    await rm(path.join(dir, 'model.safetensors'));
    await mkdir(path.join(dir, 'model.safetensors'));
    expect(await problemOf(readModelFolder(dir))).toContain(
      `bad_model_files: Cannot read ${path.join(dir, 'model.safetensors')}: EISDIR`,
    );
  });

  test('a truncated safetensors, wherever it is cut', async () => {
    const dir = await modelDir();
    const file = path.join(dir, 'model.safetensors');
    const whole = await readFile(file);
    for (const size of [0, 4, 20, whole.length - 30, whole.length - 1]) {
      await writeFile(file, whole);
      await truncate(file, size);
      const problem = await problemOf(readModelFolder(dir));
      expect(problem).toContain(file);
      expect(problem).toContain('truncated');
    }
  });

  test('something else in the place of a safetensors file', async () => {
    const dir = await modelDir();
    await writeFile(path.join(dir, 'model.safetensors'), 'version https://git-lfs.github.com/spec/v1');
    expect(await problemOf(readModelFolder(dir))).toContain('it is not a safetensors file');
  });

  test('a missing tensor, a wrong shape, an unknown dtype', async () => {
    const dir = await modelDir();
    expect(await problemOf(readBack(dir, { ...vector, name: 'bias' }))).toContain(
      'no tensor "bias" (they have 2 others)',
    );
    expect(await problemOf(readBack(dir, { ...matrix, shape: [3, 2] }))).toContain(
      '"matrix" has shape [2, 3], but config.json asks for [3, 2]',
    );
    await writeHalves(path.join(dir, 'model.safetensors'), 'I16', Uint16Array.of(1));
    expect(await problemOf(readBack(dir, { name: 'halves', shape: [1], data: new Float32Array(1) }))).toContain(
      'has dtype I16; supported: F32, F16, BF16',
    );
  });
});

describe('a write that fails', () => {
  const failing = (code: string) => async () => {
    throw Object.assign(new Error(`${code}: it failed`), { code });
  };

  test.each([
    ['ENOSPC', 'the disk is full'],
    ['EACCES', 'not writable'],
    ['EIO', 'the disk reports an error'],
    ['EOTHER', 'EOTHER: it failed'],
  ])('%s is explained and leaves the folder as it was', async (code, reason) => {
    const dir = await modelDir();
    const problem = await problemOf(
      writeModelFolder(dir, { config, tensors: [{ ...vector, name: 'other' }], writeMore: failing(code) }),
    );
    expect(problem).toContain('checkpoint: Cannot write ');
    expect(problem).toContain(reason);
    expect(await readBack(dir, matrix)).toEqual(matrix.data);
    expect(await readdir(root)).toEqual(['model']);
  });

  test('a place that cannot be a folder is explained', async () => {
    await writeFile(path.join(root, 'file'), '');
    expect(await problemOf(writeModelFolder(path.join(root, 'file', 'model'), { config, tensors: [] }))).toContain(
      'Cannot write ',
    );
  });
});
