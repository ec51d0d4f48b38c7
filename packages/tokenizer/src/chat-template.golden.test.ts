import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ChatMessage, ToolSpec } from '@agentjet/core';
import { describe, expect, test } from 'vitest';
import { createChatTokenizer } from './index.js';
import { chatTemplates, createChatTokenizerFiles, type TemplateFamily } from './testing.js';

type Case = {
  readonly messages: readonly ChatMessage[];
  readonly tools?: boolean;
  readonly noGenerationPrompt?: boolean;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly only?: readonly string[];
  readonly notIn?: readonly string[];
};

const folder = path.join(import.meta.dirname, '../golden');
const { tools, cases } = JSON.parse(readFileSync(path.join(folder, 'conversations.json'), 'utf8')) as {
  readonly tools: readonly ToolSpec[];
  readonly cases: Readonly<Record<string, Case>>;
};

const families = Object.keys(chatTemplates) as readonly TemplateFamily[];

describe.each(families)('the %s template renders as Python renders it', (family) => {
  const mine = Object.entries(cases).filter(
    ([, { only, notIn }]) => (only ?? families).includes(family) && !(notIn ?? []).includes(family),
  );

  test.each(mine)('%s', (name, { messages, variables, noGenerationPrompt, tools: hasTools }) => {
    const { template } = createChatTokenizer({
      ...createChatTokenizerFiles(family),
      ...(variables === undefined ? {} : { templateVariables: variables }),
    });
    const rendered = template.render(messages, {
      addGenerationPrompt: noGenerationPrompt !== true,
      ...(hasTools === true ? { tools } : {}),
    });
    expect(rendered).toBe(readFileSync(path.join(folder, `${family}.${name}.txt`), 'utf8'));
  });
});

test('Qwen3 drops the thinking of earlier turns, and keeps it within the current one', () => {
  const { template } = createChatTokenizer(createChatTokenizerFiles('qwen3'));
  const turn: ChatMessage = { role: 'assistant', content: 'one', reasoning: 'why' };
  const question: ChatMessage = { role: 'user', content: 'q' };
  expect(template.render([question, turn], { addGenerationPrompt: false })).toContain('why');
  expect(template.render([question, turn, question], { addGenerationPrompt: true })).not.toContain('why');
});
