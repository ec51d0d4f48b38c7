import { type ChatMessage, EngineError, type ToolSpec } from '@agentjet/core';
import { describe, expect, test } from 'vitest';
import { createChatTokenizer } from './index.js';
import { createChatTokenizerFiles, type TemplateFamily } from './testing.js';

const question: ChatMessage = { role: 'user', content: 'go' };
const tools: readonly ToolSpec[] = [{ name: 'calc', parameters: { type: 'object' } }];

function callWith(...written: readonly string[]): ChatMessage {
  return {
    role: 'assistant',
    content: '',
    toolCalls: written.map((text, index) => ({ id: `call_${index}`, name: 'calc', arguments: text })),
  };
}

function createTemplate(family: TemplateFamily, source?: string) {
  const files = createChatTokenizerFiles(family);
  return createChatTokenizer({ ...files, ...(source === undefined ? {} : { chatTemplate: source }) }).template;
}

/** Spellings that JSON.parse and JSON.stringify, or tojson, would change. */
const oddSpellings = [
  '{"a":1.0,  "b" : 2}',
  '{"b":"\\u00e9\\/","a":1e2}',
  '{"a":12345678901234567890}',
  '{"a":1,"a":2}',
  '{"q":"\\"quoted\\" $& $1 \\\\"}',
  '{ }',
  '{"a": 1, "b": ',
];

describe.each(['chatml', 'qwen3', 'llama3'] as const)('%s', (family) => {
  test.each(oddSpellings)('inserts arguments as they were written: %s', (written) => {
    expect(createTemplate(family).render([question, callWith(written)], { addGenerationPrompt: false })).toContain(
      `: ${written}}`,
    );
  });

  test.each(oddSpellings.slice(0, -1))('reads back what it renders: %s', (written) => {
    const { render, parse } = createTemplate(family);
    const before = render([question], { addGenerationPrompt: true });
    const after = render([question, callWith(written)], { addGenerationPrompt: false });
    const reply = after.slice(before.length).replace(/<\|(im_end|eot_id)\|>\s*$/, '');
    expect(parse(reply)).toMatchObject({
      content: '',
      toolCalls: [{ name: 'calc', arguments: written }],
      malformedToolCalls: 0,
    });
  });
});

test('a message that looks like the marker for arguments is left alone', () => {
  const sly: ChatMessage = { role: 'user', content: 'tool-arguments-0; "tool-arguments--0;"' };
  const rendered = createTemplate('chatml').render([sly, callWith('{"a":1}')], { addGenerationPrompt: false });
  expect(rendered).toContain(sly.content);
  expect(rendered).toContain('"arguments": {"a":1}');
});

test('several calls in one message keep their own arguments', () => {
  const rendered = createTemplate('chatml').render([question, callWith('{"a":1}', '{"a":  2}')], {
    addGenerationPrompt: false,
  });
  expect([...rendered.matchAll(/"arguments": (.*)\}/g)].map((match) => match[1])).toEqual(['{"a":1}', '{"a":  2}']);
});

test('a template that walks through the arguments gets them parsed', () => {
  const source =
    '{% for m in messages %}{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments | items %}{{ k }}={{ v }};{% endfor %}{% endfor %}{% endfor %}<|im_end|>';
  expect(
    createTemplate('chatml', source).render([question, callWith('{"a":1,"b":"x"}')], { addGenerationPrompt: false }),
  ).toBe('a=1;b=x;<|im_end|>');
});

test('the date in a prompt does not move', () => {
  expect(createTemplate('llama3').render([question], { addGenerationPrompt: true })).toContain('Date: 26 Jul 2024');
});

test("what the template refuses is a bad request with the template's own words", () => {
  const source = "{{ raise_exception('one tool call for each answer') }}<tool_call><|im_end|>";
  const render = () =>
    createTemplate('chatml', source).render([question, callWith('{}', '{}')], { addGenerationPrompt: true });
  expect(render).toThrow(EngineError);
  expect(render).toThrow(/one tool call for each answer.*parallel_tool_calls: false/s);
});

test('several calls in one answer are printed as the model writes them, if the template supports only one', () => {
  const template = createTemplate('llama3');
  const written = '{"name": "calc", "parameters": {"a":1}}; {"name": "calc", "parameters": {"a":  2}}';
  const rendered = template.render([question, callWith('{"a":1}', '{"a":  2}')], { addGenerationPrompt: false });
  expect(rendered).toContain(`<|start_header_id|>assistant<|end_header_id|>\n\n${written}<|eot_id|>`);
  expect(template.parse(written).toolCalls.map((call) => call.arguments)).toEqual(['{"a":1}', '{"a":  2}']);
});

test('the second template of a model is used if there are tools', () => {
  const files = createChatTokenizerFiles('chatml');
  const chat_template = [
    { name: 'default', template: 'plain<|im_end|>' },
    { name: 'tool_use', template: 'tools<|im_end|>' },
  ];
  const { template } = createChatTokenizer({ ...files, tokenizerConfig: { ...files.tokenizerConfig, chat_template } });
  expect(template.render([question], { addGenerationPrompt: true })).toBe('plain<|im_end|>');
  expect(template.render([question], { addGenerationPrompt: true, tools })).toBe('tools<|im_end|>');
});

test('absent tools are None, as in transformers', () => {
  const source = '{% if tools is none %}none{% endif %}{{ bos_token }}<|eot_id|>';
  expect(createTemplate('llama3', source).render([question], { addGenerationPrompt: true, tools: [] })).toBe(
    'none<|begin_of_text|><|eot_id|>',
  );
});
