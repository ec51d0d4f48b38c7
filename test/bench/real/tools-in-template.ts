import type { Measured } from '../bench.js';
import { microModelDir } from '@agentjet/micro';
import { nanoModelDir } from '@agentjet/nano';
import { type ChatTokenizer, createChatTokenizer, loadChatTokenizer } from '@agentjet/tokenizer';
import { chatTemplates, createChatTokenizerFiles, type TemplateFamily } from '@agentjet/tokenizer/testing';
import { findModel } from '../../releases/find-model.js';

/**
 * Do the tools of a request reach the model? Each template renders a question with a tool whose name occurs nowhere else.
 * A prompt without that name, and without a refusal, is silent.
 */

const tool = { name: 'look_up_tide', parameters: { type: 'object', properties: { port: { type: 'string' } } } };
const question = { role: 'user', content: 'When is high water?' } as const;

export async function measureTools(): Promise<Measured> {
  const families = Object.keys(chatTemplates).map(
    (name) => [name, createChatTokenizer(createChatTokenizerFiles(name as TemplateFamily))] as const,
  );
  const folders = [
    ['nano', nanoModelDir],
    ['micro', microModelDir],
    ['smollm2-135m', findModel('smollm2-135m')],
  ] as const;
  const models = await Promise.all(
    folders.map(async ([name, dir]) => {
      if (dir === undefined) throw new Error(`${name} is not on this machine: npx ajet model get ${name}`);
      return [name, await loadChatTokenizer(dir)] as const;
    }),
  );
  const ways = Object.fromEntries([...families, ...models].map(([name, tokenizer]) => [name, tryTools(tokenizer)]));
  const silent = Object.values(ways).filter((way) => way === 'silent').length;
  return { summary: { models: Object.keys(ways).length, silent }, details: { ways } };
}

type Way = 'shown' | 'refused' | 'silent';

function tryTools({ template }: ChatTokenizer): Way {
  try {
    const prompt = template.render([question], { tools: [tool], addGenerationPrompt: true });
    return prompt.includes(tool.name) ? 'shown' : 'silent';
  } catch {
    return 'refused';
  }
}
