import { expect, it } from 'vitest';
import { createChatTokenizer } from './index.js';
import { createChatTokenizerFiles } from './testing.js';
import { findThinkingSwitch, listVariables } from './template-variables.js';

it('variables are what a template reads, not fields, arguments, tests, filters or what it sets', () => {
  const source =
    "{% set own = wanted %}{% for m in messages %}{{ m.field | trim }}{{ make(argument=value) }}{% if m['key'] is defined %}{% endif %}{% endfor %}text";
  const names = listVariables(source);
  expect([...names].filter((name) => ['own', 'field', 'argument', 'defined', 'trim', 'text'].includes(name))).toEqual(
    [],
  );
  expect(names).toEqual(new Set([...names, 'wanted', 'messages', 'value']));
});

it('the switch for thinking is the one that the template reads', () => {
  expect(findThinkingSwitch(listVariables('{{ message.thinking }}'))).toBeUndefined();
  expect(findThinkingSwitch(listVariables('{% if thinking is defined %}{% endif %}'))).toEqual({ thinking: false });
  expect(findThinkingSwitch(listVariables('{% if not enable_thinking %}{% endif %}'))).toEqual({
    enable_thinking: false,
  });
});

it('equal variables give the same chat tokenizer, over the same vocabulary', () => {
  const chat = createChatTokenizer(createChatTokenizerFiles('qwen3'));
  const off = chat.withVariables?.({ enable_thinking: false, x: 1 });
  expect(off).toBe(chat.withVariables?.({ x: 1, enable_thinking: false }));
  expect(off?.tokenizer).toBe(chat.tokenizer);
  const ask = [{ role: 'user', content: 'x' } as const];
  expect(off?.template.render(ask, { addGenerationPrompt: true })).toContain('</think>');
  expect(chat.template.render(ask, { addGenerationPrompt: true })).not.toContain('</think>');
  expect(chat.template.thinkingOff).toEqual({ enable_thinking: false });
});
