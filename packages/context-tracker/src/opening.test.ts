import type { ChatMessage, Completion, ToolSpec } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import { createContextTracker } from './context-tracker.js';
import type { ContextTracker, Turn } from './contract.js';

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const { tokenizer, template } = chatTokenizer;
const agent = { agentName: 'a', targetTag: 'a' };
const tools: readonly ToolSpec[] = [{ name: 'add', parameters: {} }];
const question: ChatMessage = { role: 'user', content: 'hi' };
const opening = template.callOpening?.('add') ?? '';

function complete(text: string): Completion {
  const ids = tokenizer.encode(`${text}<|im_end|>`);
  return { ids, logprobs: new Float32Array(ids.length).fill(-0.5), finishReason: 'stop', policyVersion: 0 };
}

const begin = (tracker: ContextTracker, messages: readonly ChatMessage[], opened?: string): Turn =>
  tracker.begin(agent, { messages, tools }, { opening: opened });
const startsWith = (ids: Int32Array, beginning: readonly number[]): boolean =>
  beginning.every((id, at) => ids[at] === id);

describe('an answer with a given beginning', () => {
  it('reads the beginning with the rest, streamed too, and trains the rest alone', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    const turn = begin(tracker, [question], opening);
    const completion = complete(' {"a": 1}}\n</tool_call>');
    const deltas: unknown[] = [];
    const stream = turn.createStream((delta) => deltas.push(delta));
    completion.ids.forEach((id) => stream.push(id));
    stream.flush();
    const { message } = turn.commit(completion);
    expect(message).toMatchObject({ content: '', toolCalls: [{ name: 'add', arguments: '{"a": 1}' }] });
    expect(deltas).toEqual([{ type: 'tool_call', index: 0, toolCall: message.toolCalls?.[0] }]);
    expect(tokenizer.decode(turn.promptIds).endsWith(opening)).toBe(true);
    const [sample] = tracker.finish();
    expect(sample?.lossMask.indexOf(1)).toBe(turn.promptIds.length);
    expect(tracker.stats()).toMatchObject({
      generatedTokens: completion.ids.length,
      trainedTokens: completion.ids.length,
    });
  });

  it('is continued from its own tokens', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    const first = begin(tracker, [question], opening);
    const completion = complete(' {"a":   1}}\n</tool_call>');
    const { message } = first.commit(completion);
    const next = begin(tracker, [
      question,
      message,
      { role: 'tool', content: '1', toolCallId: message.toolCalls?.[0]?.id ?? '' },
    ]);
    expect(startsWith(next.promptIds, [...first.promptIds, ...completion.ids])).toBe(true);
    expect(next.fork).toBeUndefined();
  });

  it('does not change a free answer to the same messages, before or after it', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    const free = begin(tracker, [question]);
    begin(tracker, [question], opening).commit(complete(' {}}\n</tool_call>'));
    expect(begin(tracker, [question]).promptIds).toEqual(free.promptIds);
    begin(tracker, [question]).commit(complete('hello'));
    const again = begin(tracker, [question], opening);
    expect(tokenizer.decode(again.promptIds)).toBe(tokenizer.decode(free.promptIds) + opening);
    again.commit(complete(' {"b": 2}}\n</tool_call>'));
    expect(tracker.finish()).toHaveLength(3);
    const { generatedTokens, trainedTokens } = tracker.stats();
    expect(trainedTokens).toBe(generatedTokens);
  });
});
