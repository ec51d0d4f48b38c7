import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadChatTokenizer } from './index.js';
import { createChatTokenizerFiles } from './testing.js';

let dir = '';
const { tokenizerJson, tokenizerConfig } = createChatTokenizerFiles('chatml');
const { chat_template: _, ...withoutTemplate } = tokenizerConfig;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'chat-tokenizer-'));
  await write('tokenizer.json', tokenizerJson);
  await write('tokenizer_config.json', tokenizerConfig);
});

afterEach(() => rm(dir, { recursive: true }));

async function write(name: string, content: unknown): Promise<void> {
  await writeFile(path.join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));
}

async function loadError(): Promise<BackboneError> {
  const thrown: unknown = await loadChatTokenizer(dir).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(thrown instanceof BackboneError)) throw new Error(`expected a BackboneError, got ${String(thrown)}`);
  expect(thrown.code).toBe('bad_model_files');
  return thrown;
}

test('loads a folder', async () => {
  const { tokenizer, template } = await loadChatTokenizer(dir);
  expect(template.render([{ role: 'user', content: 'hi' }], { addGenerationPrompt: true })).toBe(
    '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n',
  );
  expect(template.stopIds).toEqual([tokenizer.idOf('<|im_end|>')]);
});

test.each([
  ['far beyond the number of tokens', 2 ** 31, /gives the token "t" the id 2147483648, but has only \d+ tokens/],
  ['negative', -1, /gives the token "t" the id -1/],
  ['not a number', '7', /gives the token "t" the id "7"/],
])('an id that is %s is refused in words', async (_what, id, words) => {
  const model = tokenizerJson['model'] as { readonly vocab: Readonly<Record<string, number>> };
  await write('tokenizer.json', { ...tokenizerJson, model: { ...model, vocab: { ...model.vocab, t: id } } });
  expect((await loadError()).message).toMatch(words);
  await write('tokenizer.json', { ...tokenizerJson, added_tokens: [{ content: 't', id }] });
  expect((await loadError()).message).toMatch(words);
});

test('chat_template.jinja goes before the one in tokenizer_config.json', async () => {
  await write('chat_template.jinja', 'own<|im_end|>');
  const { template } = await loadChatTokenizer(dir);
  expect(template.render([], { addGenerationPrompt: true })).toBe('own<|im_end|>');
});

test('the end of a turn of the family is used even if the files name another end', async () => {
  await write('tokenizer_config.json', { ...tokenizerConfig, eos_token: { content: '<|endoftext|>' } });
  await write('generation_config.json', { eos_token_id: [7, 276] });
  const { tokenizer, template } = await loadChatTokenizer(dir);
  expect(template.stopIds).toEqual([tokenizer.idOf('<|im_end|>'), tokenizer.idOf('<|endoftext|>'), 7]);
});

describe('says which file is wrong and what to do', () => {
  test.each(['tokenizer.json', 'tokenizer_config.json'])('missing %s', async (file) => {
    await rm(path.join(dir, file));
    const { message } = await loadError();
    expect(message).toContain(path.join(dir, file));
    expect(message).toContain('Hugging Face layout');
  });

  test.each(['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'])(
    '%s that is not JSON',
    async (file) => {
      await write(file, '{"cut": ');
      const { message } = await loadError();
      expect(message).toContain(path.join(dir, file));
      expect(message).toContain('not valid JSON');
    },
  );

  test('JSON that is not an object', async () => {
    await write('tokenizer.json', '[1]');
    expect((await loadError()).message).toContain('must contain a JSON object, not [1]');
  });

  test('no chat template', async () => {
    await write('tokenizer_config.json', withoutTemplate);
    expect((await loadError()).message).toContain('no chat template');
  });

  test('a chat template that does not parse', async () => {
    await write('chat_template.jinja', '{% if %}');
    expect((await loadError()).message).toContain('The chat template cannot be used');
  });

  test('a tokenizer without its model', async () => {
    await write('tokenizer.json', { ...tokenizerJson, model: null });
    expect((await loadError()).message).toContain('tokenizer.json cannot be used');
  });

  test('no end of turn', async () => {
    await write('tokenizer_config.json', { ...withoutTemplate, eos_token: 'nowhere', chat_template: 'x' });
    expect((await loadError()).message).toContain('no end-of-turn token');
  });

  test('a folder that does not exist', async () => {
    await rm(dir, { recursive: true });
    expect((await loadError()).message).toContain('does not exist');
    dir = await mkdtemp(path.join(tmpdir(), 'chat-tokenizer-'));
  });
});
