import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createConfig, testComposition } from '@agentjet/inputs/testing';
import { chatsOfAgents, kwargsOf, readTemplateKwargs, withTemplateKwargs } from './template-kwargs.js';
import { writeTemplateDefaults } from './template-defaults.js';
import { readTrainedKwargs } from './trained-kwargs.js';

const files = createChatTokenizerFiles('qwen3');
const base = createChatTokenizer(files);
const off = { enable_thinking: false };
const ask = [{ role: 'user', content: 'x' } as const];
const isOff = (chat: typeof base | undefined): boolean | undefined =>
  chat?.template.render(ask, { addGenerationPrompt: true }).endsWith('</think>\n\n');

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'kwargs-'));
});
afterEach(() => rmSync(root, { recursive: true }));

it('variables of the model hold for all agents, and those of an agent go before them', () => {
  const model = {
    chatTemplateKwargs: off,
    agentChatTemplateKwargs: [{ agent: 'anna', kwargs: { enable_thinking: true } }],
  };
  const chat = withTemplateKwargs(base, model);
  const chatOf = chatsOfAgents(chat, model);
  expect([isOff(chat), isOff(chatOf?.({ agentName: 'anna' }))]).toEqual([true, false]);
  expect(chatOf?.({ agentName: 'bert' })).toBeUndefined();
  expect(kwargsOf(model, 'anna')).toEqual({ enable_thinking: true });
  expect(chatsOfAgents(chat, { ...model, agentChatTemplateKwargs: [] })).toBeUndefined();
});

it.each([
  [{ chatTemplateKwargs: { enable_thinkin: false }, agentChatTemplateKwargs: [] }, /Did you mean "enable_thinking"/],
  [{ chatTemplateKwargs: { messages: [] }, agentChatTemplateKwargs: [] }, /each request set/],
  [{ chatTemplateKwargs: {}, agentChatTemplateKwargs: [{ agent: 'a', kwargs: { zzz: 1 } }] }, /agent "a" sets "zzz"/],
])('a variable that the template does not read stops the start: %j', (model, problem) => {
  expect(() => withTemplateKwargs(base, model)).toThrow(problem);
});

it('a checkpoint is opened with the variables of its run', async () => {
  const dir = path.join(root, 'run', 'checkpoints', 'step-000001');
  mkdirSync(dir, { recursive: true });
  expect(await readTrainedKwargs(dir)).toEqual(readTemplateKwargs(undefined));
  const model = { chatTemplateKwargs: off, agentChatTemplateKwargs: [{ agent: 'A_b', kwargs: { x_1: 2, yZ: 3 } }] };
  const config = createConfig({ model: { path: 'nano', ...model } });
  writeFileSync(path.join(root, 'run', 'config.yaml'), testComposition.format(config));
  expect(await readTrainedKwargs(dir)).toEqual(model);
});

it.each([true, false])(
  'an exported template has the variables as defaults, which a request may still set (own file: %s)',
  async (isOwnFile) => {
    const { chat_template: template, ...config } = files.tokenizerConfig;
    const source = String(files.chatTemplate ?? template);
    writeFileSync(
      path.join(root, 'tokenizer_config.json'),
      JSON.stringify(isOwnFile ? config : { ...config, chat_template: source }),
    );
    if (isOwnFile) writeFileSync(path.join(root, 'chat_template.jinja'), source);
    await writeTemplateDefaults(root, { ...off, other: [1, null, { a: 'b' }] });
    const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');
    const chatTemplate = isOwnFile
      ? read('chat_template.jinja')
      : (JSON.parse(read('tokenizer_config.json')) as { chat_template: string }).chat_template;
    const exported = createChatTokenizer({ ...files, chatTemplate });
    expect(isOff(exported)).toBe(true);
    expect(isOff(exported.withVariables?.({ enable_thinking: true }))).toBe(false);
  },
);
