import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readModelFolder, readTensorPieces } from '@agentjet/trainer/model-files';
import { findConverted, openGguf, type OpenedGguf } from './index.js';
import { readGguf } from './read-gguf.js';

const golden = path.join(import.meta.dirname, '../golden');
const fixture = (name: string): Buffer => readFileSync(path.join(golden, name));

let root: string;
let cacheDir: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'open-gguf-'));
  cacheDir = path.join(root, 'cache');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const foldersOf = (dir: string): readonly string[] => readdirSync(dir).filter((name) => name !== 'sums');

function write(name: string, content: Buffer): string {
  const file = path.join(root, name);
  writeFileSync(file, content);
  return file;
}

async function sumsOf({ dir }: OpenedGguf): Promise<Record<string, string>> {
  const { tensors } = await readModelFolder(dir);
  const sums: Record<string, string> = {};
  for (const entry of tensors.values()) {
    const hash = createHash('sha256');
    for await (const values of readTensorPieces(entry, 1 << 20)) hash.update(new Uint8Array(values.buffer));
    sums[entry.name] = hash.digest('hex');
  }
  return sums;
}

async function refusal(file: string): Promise<string> {
  const error: unknown = await openGguf(file, { cacheDir }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return String(error).replaceAll(file, 'FILE');
}

describe.each(['llama', 'qwen2', 'qwen3'])('a %s file', (architecture) => {
  it('becomes a folder with every tensor of the reference, bit for bit', async () => {
    const opened = await openGguf(path.join(golden, `${architecture}.gguf`), { cacheDir });
    expect(await sumsOf(opened)).toEqual(JSON.parse(fixture(`${architecture}.json`).toString()));
  });

  it('gives config.json, tokenizer and template from its metadata', async () => {
    const { dir } = await openGguf(path.join(golden, `${architecture}.gguf`), { cacheDir });
    const read = (name: string): unknown => JSON.parse(readFileSync(path.join(dir, name), 'utf8'));
    expect(read('config.json')).toMatchObject({
      model_type: architecture,
      vocab_size: 264,
      hidden_size: 32,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 8,
      intermediate_size: 64,
      max_position_embeddings: 128,
      rms_norm_eps: 0.00001,
      rope_theta: 100000,
      tie_word_embeddings: true,
      eos_token_id: 261,
      torch_dtype: 'float32',
    });
    expect(read('tokenizer_config.json')).toMatchObject({
      bos_token: '<|im_start|>',
      eos_token: '<|im_end|>',
      chat_template: expect.stringContaining('<|im_start|>{{ message.role }}'),
    });
    expect(read('generation_config.json')).toEqual({ bos_token_id: 260, eos_token_id: [261], pad_token_id: 261 });
    const tokenizer = read('tokenizer.json') as {
      readonly added_tokens: readonly { readonly content: string; readonly special: boolean }[];
      readonly model: { readonly vocab: Record<string, number>; readonly merges: unknown };
    };
    expect(tokenizer.added_tokens.map(({ content, special }) => [content, special])).toEqual([
      ['<|im_start|>', true],
      ['<|im_end|>', true],
      ['<tool>', false],
    ]);
    expect(tokenizer.model.merges).toEqual([
      ['h', 'e'],
      ['l', 'l'],
      ['o', 'Ġ'],
    ]);
    expect(tokenizer.model.vocab['hello']).toBe(257);
    expect(tokenizer.model.vocab).not.toHaveProperty('[PAD263]');
  });
});

describe('the folder', () => {
  it('is made once, under the sum of the content', async () => {
    const first = await openGguf(write('one.gguf', fixture('llama.gguf')), { cacheDir });
    const config = path.join(first.dir, 'config.json');
    writeFileSync(config, '{}');
    const second = await openGguf(write('two.gguf', fixture('llama.gguf')), { cacheDir });
    expect(second.dir).toBe(first.dir);
    expect(readFileSync(config, 'utf8')).toBe('{}');
    expect((await findConverted(first.source.sha256, cacheDir))?.dir).toBe(first.dir);
    expect(await findConverted('0'.repeat(64), cacheDir)).toBeUndefined();
  });

  it('follows the file if its content changes', async () => {
    const file = write('model.gguf', fixture('llama.gguf'));
    const first = await openGguf(file, { cacheDir });
    const second = await openGguf(write('model.gguf', fixture('qwen2.gguf')), { cacheDir });
    expect(second.source.sha256).not.toBe(first.source.sha256);
    expect(second.dir).not.toBe(first.dir);
  });

  it('says where its weights come from, and that they were quantized', async () => {
    const { dir, source } = await openGguf(path.join(golden, 'llama.gguf'), { cacheDir });
    expect(source).toEqual({
      from: 'gguf',
      file: 'llama.gguf',
      sha256: createHash('sha256').update(fixture('llama.gguf')).digest('hex'),
      tensor_types: { Q8_0: 2, F32: 15, Q4_1: 1, F16: 1, Q5_1: 1 },
      quantized: true,
      merged_head: false,
    });
    expect(JSON.parse(readFileSync(path.join(dir, 'model_source.json'), 'utf8'))).toEqual(source);
    const exact = await openGguf(path.join(golden, 'qwen3.gguf'), { cacheDir });
    expect(exact.source).toMatchObject({ quantized: false, merged_head: false });
    expect((await openGguf(path.join(golden, 'qwen2.gguf'), { cacheDir })).source.merged_head).toBe(true);
  });

  it('keeps numbers that are not quantized in their own dtype', async () => {
    const { dir } = await openGguf(path.join(golden, 'llama.gguf'), { cacheDir });
    const { tensors } = await readModelFolder(dir);
    const dtypeOf = (part: string): unknown => tensors.get(`model.layers.0.self_attn.${part}.weight`)?.dtype;
    expect([dtypeOf('v_proj'), dtypeOf('k_proj')]).toEqual(['F16', 'F32']);
  });

  it('has no weights if only the description is asked for, and later has them', async () => {
    const file = path.join(golden, 'llama.gguf');
    const described = await openGguf(file, { cacheDir, withWeights: false });
    expect(readdirSync(described.dir)).not.toContain('model.safetensors');
    const whole = await openGguf(file, { cacheDir });
    expect(readdirSync(whole.dir)).toContain('model.safetensors');
    expect((await openGguf(file, { cacheDir, withWeights: false })).dir).toBe(whole.dir);
  });

  it('is made once by two that ask at the same time', async () => {
    const file = path.join(golden, 'llama.gguf');
    const [first, second] = await Promise.all([openGguf(file, { cacheDir }), openGguf(file, { cacheDir })]);
    expect(second).toEqual(first);
    expect(foldersOf(cacheDir)).toHaveLength(1);
  });

  it('is not there after a conversion that was stopped', async () => {
    const stop = new AbortController();
    const onProgress = (): void => stop.abort();
    const file = path.join(golden, 'llama.gguf');
    await expect(openGguf(file, { cacheDir, signal: stop.signal, onProgress })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(foldersOf(cacheDir)).toEqual([]);
    expect(readdirSync((await openGguf(file, { cacheDir })).dir)).toContain('model.safetensors');
  });
});

/** Returns the position after a name in the header and `more` bytes. */
const after = (bytes: Buffer, name: string, more: number): number => bytes.indexOf(name) + name.length + more;

/** Inserts a number into the metadata, and a string that keeps the alignment of the tensors. */
function withNumber(bytes: Buffer, key: string, value: number): Buffer {
  const text = (content: string): Buffer => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(content.length));
    return Buffer.concat([length, Buffer.from(content)]);
  };
  const number = Buffer.alloc(8);
  number.writeUInt32LE(6);
  number.writeFloatLE(value, 4);
  const added = Buffer.concat([text(key), number, text('x.filler'), Buffer.of(8, 0, 0, 0)]);
  const filler = text('x'.repeat(32 - ((added.length + 8) % 32)));
  const head = Buffer.from(bytes.subarray(0, 24));
  head.writeBigUInt64LE(head.readBigUInt64LE(16) + 2n, 16);
  return Buffer.concat([head, added, filler, bytes.subarray(24)]);
}

it('a factor of the positions without a type is linear, as llama.cpp reads it, and a factor of 0 has no effect', async () => {
  const configOf = async (bytes: Buffer): Promise<unknown> => {
    const { dir } = await openGguf(write('positions.gguf', bytes), { cacheDir });
    return JSON.parse(readFileSync(path.join(dir, 'config.json'), 'utf8'));
  };
  const linear = { rope_scaling: { rope_type: 'linear', factor: 4 } };
  expect(await configOf(withNumber(fixture('llama.gguf'), 'llama.rope.scaling.factor', 4))).toMatchObject(linear);
  expect(await configOf(withNumber(fixture('llama.gguf'), 'llama.rope.scale_linear', 4))).toMatchObject(linear);
  const none = await configOf(withNumber(fixture('llama.gguf'), 'llama.rope.scaling.factor', 0));
  expect(none).not.toHaveProperty('rope_scaling');
});

it('ids of special tokens that do not exist are left out', async () => {
  const bytes = fixture('llama.gguf');
  const key = 'tokenizer.ggml.eot_token_id';
  bytes.write(key, bytes.indexOf('tokenizer.ggml.bos_token_id'));
  bytes.writeUInt32LE(2 ** 32 - 1, after(bytes, key, 4));
  const { dir } = await openGguf(write('none.gguf', bytes), { cacheDir });
  const generation: unknown = JSON.parse(readFileSync(path.join(dir, 'generation_config.json'), 'utf8'));
  expect(generation).toEqual({ eos_token_id: [261], pad_token_id: 261 });
});

describe('a bad file is refused by name', () => {
  it('with more layers than tensors, before it takes the memory of their names', async () => {
    const bytes = fixture('llama.gguf');
    bytes.writeUInt32LE(2 ** 31, after(bytes, 'llama.block_count', 4));
    expect(await refusal(write('layers.gguf', bytes))).toContain(
      'its llama.block_count is 2147483648, but it has 20 tensors',
    );
  });

  it('with a metadata key twice', async () => {
    const bytes = fixture('llama.gguf');
    bytes.write('llama.context_length', bytes.indexOf('llama.rope.freq_base'));
    expect(await refusal(write('twice.gguf', bytes))).toContain('it has the metadata key "llama.context_length" twice');
  });

  it.each([
    ['llama.rope.freq_base', Number.NaN, 'NaN, not a number'],
    ['llama.rope.freq_base', 0, '0, not a number above 0'],
    ['llama.attention.layer_norm_rms_epsilon', -1, '-1, not a number above 0'],
  ])('with %s %d', async (key, value, message) => {
    const bytes = fixture('llama.gguf');
    bytes.writeFloatLE(value, after(bytes, key, 4));
    expect(await refusal(write('number.gguf', bytes))).toContain(`its ${key} is ${message}`);
  });

  it('with fewer embeddings than tokens', async () => {
    const bytes = fixture('llama.gguf');
    bytes.writeBigUInt64LE(200n, after(bytes, 'token_embd.weight', 4 + 8));
    expect(await refusal(write('rows.gguf', bytes))).toContain(
      'its tokenizer has 264 tokens, but "token_embd.weight" has 200 rows',
    );
  });

  it('with two tensors in one place', async () => {
    const bytes = fixture('llama.gguf');
    bytes.writeBigUInt64LE(0n, after(bytes, 'blk.0.attn_norm.weight', 4 + 8 + 4));
    expect(await refusal(write('place.gguf', bytes))).toMatch(
      /it is damaged: tensors ".*(token_embd|attn_norm)\.weight" and ".*(token_embd|attn_norm)\.weight" have the same bytes/,
    );
  });

  it.each([3, 4, 20, 500, 5000, 20_000, 56_000])('cut to %i bytes', async (length) => {
    const whole = fixture('llama.gguf');
    expect(length).toBeLessThan(whole.length);
    expect(await refusal(write('cut.gguf', whole.subarray(0, length)))).toMatch(
      /^BackboneError: Cannot read FILE: it is truncated: .* Copy or download it again\.$/,
    );
    expect(() => foldersOf(cacheDir)).toThrow('ENOENT');
  });

  it('of version 0, which is not big-endian', async () => {
    const bytes = fixture('llama.gguf');
    bytes.writeUInt32LE(0, 4);
    expect(await refusal(write('zero.gguf', bytes))).toContain('it has GGUF version 0');
  });

  it('without the magic word', async () => {
    expect(await refusal(write('zip.gguf', Buffer.from('PK\u0003\u0004 and so on')))).toContain(
      'it is not a GGUF file: it begins with "PK\\u0003\\u0004", not with "GGUF"',
    );
  });

  it('in big-endian order, or of another version', async () => {
    const bytes = fixture('llama.gguf');
    bytes.writeUInt32BE(3, 4);
    expect(await refusal(write('big.gguf', bytes))).toContain('it is a big-endian GGUF file');
    bytes.writeUInt32LE(1, 4);
    expect(await refusal(write('old.gguf', bytes))).toContain('it has GGUF version 1; versions 2 and 3 are read');
  });

  it('of another architecture', async () => {
    const bytes = fixture('llama.gguf');
    bytes.write('gemma', bytes.indexOf('llama', bytes.indexOf('general.architecture')));
    expect(await refusal(write('gemma.gguf', bytes))).toContain(
      'holds a model of architecture "gemma"; the supported architectures are llama, qwen2, qwen3',
    );
  });

  it.each([
    [10, 'Q2_K'],
    [23, 'IQ4_XS'],
    [200, 'number 200'],
  ])('with a tensor of type %i', async (id, name) => {
    const bytes = fixture('llama.gguf');
    const at = bytes.indexOf('blk.1.ffn_up.weight') + 'blk.1.ffn_up.weight'.length + 4 + 2 * 8;
    bytes.writeUInt32LE(id, at);
    expect(await refusal(write('type.gguf', bytes))).toContain(
      `tensor "blk.1.ffn_up.weight" has type ${name}; the supported types are F32, F16, BF16, Q4_0`,
    );
  });

  it('with a tensor that the model does not have, and without one that it has', async () => {
    const bytes = fixture('llama.gguf');
    bytes.write('blk.1.ffn_xx.weight', bytes.indexOf('blk.1.ffn_up.weight'));
    expect(await refusal(write('other.gguf', bytes))).toContain('it has a tensor "blk.1.ffn_xx.weight"');
    const lacking = fixture('llama.gguf');
    lacking.writeUInt32LE(3, lacking.indexOf('llama.block_count') + 'llama.block_count'.length + 4);
    expect(await refusal(write('lacking.gguf', lacking))).toContain('it lacks tensor "blk.2.attn_norm.weight"');
  });

  it('with another kind of tokenizer', async () => {
    const bytes = fixture('llama.gguf');
    bytes.write('bert', bytes.indexOf('gpt2'));
    expect(await refusal(write('bert.gguf', bytes))).toContain('has a tokenizer of kind "bert"');
    const other = fixture('llama.gguf');
    other.write('tekken', other.indexOf('smollm'));
    expect(await refusal(write('tekken.gguf', other))).toContain(
      'has a tokenizer that splits text by the rule "tekken"; the supported rules are qwen2',
    );
  });

  it.each(['blk.0.attn_q.weight', 'blk.0.attn_v.weight', 'blk.1.ffn_down.weight'])(
    'with a number that is not finite in %s',
    async (name) => {
      const bytes = fixture('llama.gguf');
      const { tensors } = await readGguf(path.join(golden, 'llama.gguf'));
      const start = tensors.get(name)?.start ?? 0;
      bytes.fill(0xff, start, start + 4);
      expect(await refusal(write('nan.gguf', bytes))).toContain(
        `tensor "${name}" holds a number that is not finite: the file is damaged`,
      );
    },
  );

  it('if it is not there', async () => {
    expect(await refusal(path.join(root, 'none.gguf'))).toContain('ENOENT');
  });
});
