import type { AssistantMessage, ChatMessage, Completion, ToolSpec } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles, type TemplateFamily } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import { createContextTracker } from './context-tracker.js';

/**
 * Tests calls that the template prints in another form: calls without its tags, and calls in XML, whose arguments it
 * spells differently.
 */

const agent = { agentName: 'a', targetTag: 'a' };
const tools: readonly ToolSpec[] = [
  { name: 'add', parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'boolean' } } } },
];
const question: ChatMessage = { role: 'user', content: 'hi' };
const other: ChatMessage = { role: 'system', content: 'Be brief.' };
const resultOf = ({ toolCalls }: AssistantMessage): ChatMessage => ({
  role: 'tool',
  content: '3',
  toolCallId: toolCalls?.[0]?.id ?? '',
});

function open(family: TemplateFamily, toolCalls: 'strict' | 'lenient') {
  const chatTokenizer = createChatTokenizer({ ...createChatTokenizerFiles(family), toolCalls });
  const { tokenizer, template } = chatTokenizer;
  const [stopId = 0] = template.stopIds;
  const complete = (text: string): Completion => {
    const ids = Int32Array.of(...tokenizer.encode(text), stopId);
    return { ids, logprobs: new Float32Array(ids.length).fill(-0.5), finishReason: 'stop', policyVersion: 0 };
  };
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const begin = (messages: readonly ChatMessage[]) => tracker.begin(agent, { messages, tools });
  return { tracker, tokenizer, begin, complete };
}

const bare = '{"name": "add", "arguments": {"a":  1}}';

describe.each([
  ['chatml', bare],
  ['chatml', `\`\`\`json\n${bare}\n\`\`\``],
  ['chatml', `[${bare}, ${bare}]`],
  ['qwen3', `<think>\nHm.\n</think>\n\n${bare}`],
  ['plain', bare],
  ['llama3', `\`\`\`json\n${bare}\n\`\`\``],
  ['qwen3_coder', bare],
] as const)('an answer of %s without tags: %j', (family, text) => {
  it('is a call, streamed too, and the next turn continues from its own tokens', () => {
    const { tracker, begin, complete } = open(family, 'lenient');
    const first = begin([question]);
    const completion = complete(text);
    const deltas: unknown[] = [];
    const stream = first.createStream((delta) => deltas.push(delta));
    completion.ids.forEach((id) => stream.push(id));
    stream.flush();
    const { message, finishReason, malformedToolCalls } = first.commit(completion);
    const call = { name: 'add', arguments: '{"a":  1}' };
    const calls = Array.from(text.matchAll(/"name"/g), () => call);
    expect(message).toMatchObject({ content: '', toolCalls: calls });
    expect([finishReason, malformedToolCalls]).toEqual(['tool_calls', 0]);
    expect(deltas).toContainEqual({ type: 'tool_call', index: 0, toolCall: message.toolCalls?.[0] });
    const next = begin([question, message, resultOf(message)]);
    const seen = [...first.promptIds, ...completion.ids];
    expect([...next.promptIds.subarray(0, seen.length)]).toEqual(seen);
    expect(next.fork).toBeUndefined();
    next.commit(complete('3'));
    const samples = tracker.finish();
    expect(samples).toHaveLength(1);
    expect(tracker.stats().trainedTokens).toBe(completion.ids.length + complete('3').ids.length);
  });

  it('is printed as it was written after other messages too', () => {
    const { begin, complete, tokenizer } = open(family, 'lenient');
    const completion = complete(text);
    const { message } = begin([question]).commit(completion);
    const next = begin([other, question, message, resultOf(message)]);
    const prompt = tokenizer.decode(next.promptIds);
    expect(prompt).toContain(text.replace(/^<think>[^]*<\/think>\n\n/, ''));
    expect(prompt).not.toContain('<tool_call>\n{"name": "add"');
  });

  it('is text and counted if reading is strict', () => {
    const { begin, complete } = open(family, 'strict');
    const { message, finishReason, malformedToolCalls } = begin([question]).commit(complete(text));
    expect(message.toolCalls).toBeUndefined();
    expect(message.content.trim()).toBe(text.replace(/^<think>[^]*<\/think>\n\n/, ''));
    expect([finishReason, malformedToolCalls]).toEqual(['stop', text.split('"name"').length - 1]);
  });
});

it('a call in XML continues from its own tokens, although the template spells its arguments differently', () => {
  const { tracker, begin, complete } = open('qwen3_coder', 'strict');
  const first = begin([question]);
  const completion = complete(
    'Well.\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\ntrue\n</parameter>\n</function>\n</tool_call>',
  );
  const { message } = first.commit(completion);
  expect(message).toMatchObject({ content: 'Well.', toolCalls: [{ name: 'add', arguments: '{"a": 1, "b": true}' }] });
  const next = begin([question, message, resultOf(message)]);
  const seen = [...first.promptIds, ...completion.ids];
  expect([...next.promptIds.subarray(0, seen.length)]).toEqual(seen);
  expect(next.fork).toBeUndefined();
  next.commit(complete('3'));
  expect(tracker.finish()).toHaveLength(1);
});
