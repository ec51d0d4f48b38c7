import type { ChatMessage, ToolMessage } from '@agentjet/core';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, test } from 'vitest';
import { createContextTracker } from './index.js';
import { createPlayer, showRow } from './testing/play.js';

/**
 * One conversation under the templates of three model families: question, tool call, result, answer, question,
 * truncated answer, question, answer. The golden files show every row: ⟦ ⟧ marks trained tokens.
 */
const call = '<tool_call>\n{"name": "calc", "arguments": {"a":  1.0, "b":"é"}}\n</tool_call>';
const thought = (text: string): string => `<think>\n${text}\n</think>\n\n`;

type Family = {
  readonly name: string;
  readonly chatTokenizer: ChatTokenizer;
  readonly answers: readonly [string, string, string, string];
  readonly forks: object;
};

const plain = (written: string): Family['answers'] => [written, 'It is 2.', 'Because one and', 'one are two.'];
const thinking: Family['answers'] = [
  thought('Ask the tool.') + call,
  `${thought('It says 2.')}It is 2.`,
  `${thought('Why, why.')}Because one and`,
  `${thought('Go on.')}one are two.`,
];

const families: readonly Family[] = [
  {
    name: 'qwen2.5',
    chatTokenizer: createChatTokenizer(createChatTokenizerFiles('chatml')),
    answers: plain(call),
    forks: {},
  },
  {
    name: 'qwen3-thinking',
    chatTokenizer: createChatTokenizer(createChatTokenizerFiles('qwen3')),
    answers: thinking,
    forks: { agent: { template: 2 } },
  },
  {
    name: 'qwen3-not-thinking',
    chatTokenizer: createChatTokenizer({
      ...createChatTokenizerFiles('qwen3'),
      templateVariables: { enable_thinking: false },
    }),
    answers: plain(call),
    forks: { agent: { template: 3 } },
  },
  {
    name: 'llama3',
    chatTokenizer: createChatTokenizer(createChatTokenizerFiles('llama3')),
    answers: plain('{"name": "calc", "parameters": {"a":  1.0, "b":"é"}}'),
    forks: {},
  },
];

function play({ chatTokenizer, answers }: Family) {
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const player = createPlayer(tracker, chatTokenizer);
  const request = { tools: [{ name: 'calc', parameters: { type: 'object' } }] };
  const history: ChatMessage[] = [
    { role: 'system', content: 'You calculate.' },
    { role: 'user', content: 'What is 1 + 1?' },
  ];
  const first = player.say(history, answers[0], { request });
  const result: ToolMessage = { role: 'tool', content: '2', toolCallId: first.toolCalls?.[0]?.id ?? 'none' };
  history.push(first, result);
  history.push(player.say(history, answers[1], { request }), { role: 'user', content: 'Why?' });
  history.push(player.say(history, answers[2], { request, isTruncated: true }), { role: 'user', content: 'Go on.' });
  history.push(player.say(history, answers[3], { request }));
  return { tracker, history, log: player.log };
}

describe.each(families)('$name', (family) => {
  const { chatTokenizer, name, forks } = family;

  test('rows are as in the golden file', async () => {
    const { tracker } = play(family);
    const rows = tracker.finish().map((sample) => showRow(sample, chatTokenizer, ['⟦', '⟧']));
    await expect(rows.join('\n\n----\n\n')).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  test('forks only if the template prints history differently from what was seen', () => {
    const { tracker } = play(family);
    const stats = tracker.stats();
    expect([stats.forks, stats.splices, stats.foreignMessages]).toEqual([forks, {}, {}]);
    expect(stats.trainedTokens).toBe(stats.generatedTokens);
  });

  test('every prompt is what the template prints, letter by letter', () => {
    const { history, log } = play(family);
    const { tokenizer, template } = chatTokenizer;
    const tools = [{ name: 'calc', parameters: { type: 'object' } }];
    const ends = history.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
    expect(log.map(({ turn }) => tokenizer.decode(turn.promptIds))).toEqual(
      ends.map((end) => template.render(history.slice(0, end), { tools, addGenerationPrompt: true })),
    );
  });
});

test('a template that prints other text at the end than in the middle: the history is rendered again, and every answer trained', () => {
  const marksLast =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + ('!' if loop.last else '') + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const chatTokenizer = createChatTokenizer({ ...createChatTokenizerFiles('chatml'), chatTemplate: marksLast });
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const { say } = createPlayer(tracker, chatTokenizer);
  const history: ChatMessage[] = [];
  for (const content of ['one', 'two', 'three']) {
    history.push({ role: 'user', content });
    history.push(say(history, `to ${content}`));
  }
  expect(
    tracker.finish().map((sample) => showRow(sample, chatTokenizer).replaceAll(/<\|im_start\|>\w+\n|\n/g, '')),
  ).toEqual([
    'one!<|im_end|>[to one<|im_end|>]',
    'one<|im_end|>to one<|im_end|>two!<|im_end|>[to two<|im_end|>]',
    'one<|im_end|>to one<|im_end|>two<|im_end|>to two<|im_end|>three!<|im_end|>[to three<|im_end|>]',
  ]);
  expect(tracker.stats().forks).toEqual({ agent: { template: 2 } });
});

test('a template that notices after a long while is noticed', () => {
  const turnsLate =
    "{% set late = messages | length > 40 %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + ('late ' if late and m.role == 'user' else '') + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const chatTokenizer = createChatTokenizer({ ...createChatTokenizerFiles('chatml'), chatTemplate: turnsLate });
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const { say } = createPlayer(tracker, chatTokenizer);
  const history: ChatMessage[] = [];
  for (let at = 0; at < 90; at++) {
    history.push({ role: 'user', content: `q${at}` });
    history.push(say(history, `a${at}`));
  }
  // A whole history is rendered again whenever it has grown fourfold; until then the prompt is extended as before.
  expect(tracker.stats().forks).toEqual({ agent: { template: 1 } });
  expect(tracker.stats().trainedTokens).toBe(tracker.stats().generatedTokens);
});

test('a template without end tokens, whose turns are plain lines', () => {
  const lines =
    "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";
  const chatTokenizer = createChatTokenizer({ ...createChatTokenizerFiles('chatml'), chatTemplate: lines });
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const { say } = createPlayer(tracker, chatTokenizer);
  const first = say([{ role: 'user', content: 'one' }], 'to one');
  say([{ role: 'user', content: 'one' }, first, { role: 'user', content: 'two' }], 'to two', { isTruncated: true });
  expect(tracker.finish().map((sample) => showRow(sample, chatTokenizer))).toEqual([
    'user: one\nassistant: [to one<|im_end|>]\nuser: two\nassistant: [to two]',
  ]);
});

test('two calls in one answer of Llama 3 keep their sampled tokens, and the conversation continues', () => {
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('llama3'));
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const { say } = createPlayer(tracker, chatTokenizer);
  const request = { tools: [{ name: 'calc', parameters: { type: 'object' } }] };
  const written = '{"name":"calc","parameters":{"a":  1}};{"name": "calc", "parameters": {"b": [2]}}';
  const history: ChatMessage[] = [{ role: 'user', content: 'What?' }];
  const answer = say(history, written, { request });
  expect(answer.toolCalls).toHaveLength(2);
  const results = (answer.toolCalls ?? []).map(
    ({ id }): ToolMessage => ({ role: 'tool', content: id, toolCallId: id }),
  );
  history.push(answer, ...results);
  history.push(say(history, 'Both.', { request }), { role: 'user', content: 'Why?' });
  say(history, 'So.', { request });
  const rows = tracker.finish().map((sample) => showRow(sample, chatTokenizer));
  expect(rows).toHaveLength(1);
  expect(rows[0]).toContain(`[${written}<|eot_id|>]`);
  expect(tracker.stats()).toMatchObject({ forks: {}, foreignMessages: {} });
});

test('two calls of Llama 3 that another model made are printed', () => {
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('llama3'));
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const { begin } = createPlayer(tracker, chatTokenizer);
  const toolCalls = ['x', 'y'].map((id) => ({ id, name: 'calc', arguments: `{"id":"${id}"}` }));
  const turn = begin([
    { role: 'user', content: 'What?' },
    { role: 'assistant', content: 'Both. ', toolCalls },
  ]);
  expect(chatTokenizer.tokenizer.decode(turn.promptIds)).toContain(
    '{"name": "calc", "parameters": {"id":"x"}}; {"name": "calc", "parameters": {"id":"y"}} Both.<|eot_id|>',
  );
});
