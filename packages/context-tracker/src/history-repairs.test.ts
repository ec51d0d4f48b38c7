import type { AssistantMessage, ChatMessage, ToolMessage } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, test } from 'vitest';
import { createContextTracker, type Turn } from './index.js';
import { createToyChatTokenizer } from './testing.js';
import { createPlayer, type Player } from './testing/play.js';

const user: ChatMessage = { role: 'user', content: 'the U' };
const next: ChatMessage = { role: 'user', content: 'next' };
const request = { tools: [{ name: 'add', parameters: { type: 'object' } }] };
const callOf = (args: string): string => `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;
const resultOf = (message: AssistantMessage, at = 0): ToolMessage => ({
  role: 'tool',
  content: `result of ${message.toolCalls?.[at]?.id}`,
  toolCallId: message.toolCalls?.[at]?.id ?? '',
});

const qwen3 = createChatTokenizer(createChatTokenizerFiles('qwen3'));

describe.each([
  ['toy', createToyChatTokenizer()],
  ['qwen3', qwen3],
])('%s', (_name, chatTokenizer) => {
  function start(): Player {
    return createPlayer(createContextTracker({ episodeId: 'e', chatTokenizer }), chatTokenizer);
  }

  function expectKept({ log }: Player, turn: Turn, callIndex: number): void {
    const call = log[callIndex];
    expect(turn.fork).toBeUndefined();
    expect(turn.promptIds.join().startsWith([...(call?.turn.promptIds ?? []), ...(call?.ids ?? [])].join())).toBe(true);
  }

  test('an answer of calls and an unfinished call, sent back unchanged, is extended', () => {
    const player = start();
    const written = `${callOf('{"a": 1}')}${callOf('{"a": 2}')}\n<tool_call>\n{"name": "add", "arguments": "str`;
    const message = player.say([user], written, { request, isTruncated: true });
    expect(message.toolCalls).toHaveLength(2);
    const results = [resultOf(message), resultOf(message, 1)];
    expectKept(player, player.begin([user, message, ...results], { request }), 0);
    const answer = player.say([user, message, ...results], 'so', { request });
    expectKept(player, player.begin([user, message, ...results, answer, next], { request }), 1);
  });

  test('an answer that comes back as text, call, text is one answer', () => {
    const player = start();
    const message = player.say([user], `before ${callOf('{"a": 1}')}\nafter`, { request });
    expect(message.content.replaceAll(/\s+/g, ' ')).toContain('before');
    const [before = '', after = ''] = message.content.split(/(?=after)/);
    const sent: readonly ChatMessage[] = [
      user,
      { ...message, content: before },
      { role: 'assistant', content: after },
      resultOf(message),
    ];
    const turn = player.begin(sent, { request });
    expectKept(player, turn, 0);
  });

  test('text after a call that the model did not write is kept, and the history forks', () => {
    const player = start();
    const message = player.say([user], callOf('{"a": 1}'), { request });
    const sent: readonly ChatMessage[] = [user, message, { role: 'assistant', content: 'mine' }, resultOf(message)];
    const turn = player.begin(sent, { request });
    expect(chatTokenizer.tokenizer.decode(turn.promptIds)).toContain('mine');
  });

  test('answers that come before all of their results get each its own back', () => {
    const player = start();
    const first = player.say([user], callOf('{"a": 1}'), { request });
    const history = [user, first, resultOf(first)];
    const second = player.say(history, callOf('{"a": 2}'), { request });
    const results = [resultOf(first), resultOf(second)];
    for (const order of [results, results.toReversed()])
      expectKept(player, player.begin([user, first, second, ...order], { request }), 1);
    const third = player.say([user, first, second, ...results], 'so', { request });
    expectKept(player, player.begin([user, first, second, ...results, third, next], { request }), 2);
  });

  test('an answer that is left out stays out, and is still trained', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    const player = createPlayer(tracker, chatTokenizer);
    const kept = player.say([user], 'kept', { request });
    player.say([user, kept, next], 'left out', { request });
    const turn = player.begin([user, kept, next, next], { request });
    expect(turn.fork).toBe('rewritten');
    const prompt = chatTokenizer.tokenizer.decode(turn.promptIds);
    expect([prompt.includes('kept'), prompt.includes('left out')]).toEqual([true, false]);
    player.commit(turn, 'done');
    const { trainedTokens, generatedTokens } = tracker.stats();
    expect([trainedTokens, tracker.finish().length]).toEqual([generatedTokens, 2]);
  });

  test('answers and results of another model stay in their order', () => {
    const player = start();
    const foreign = (id: string): AssistantMessage => ({
      role: 'assistant',
      content: '',
      toolCalls: [{ id, name: 'add', arguments: '{}' }],
    });
    const result = (id: string): ToolMessage => ({ role: 'tool', content: `result-${id}`, toolCallId: id });
    const sent = [user, foreign('xxxxxxxx1'), foreign('xxxxxxxx2'), result('xxxxxxxx1'), result('xxxxxxxx2')];
    const { promptIds } = player.begin(sent, { request });
    expect(chatTokenizer.tokenizer.decode(promptIds)).toBe(
      chatTokenizer.template.render(sent, { addGenerationPrompt: true, tools: request.tools }),
    );
  });
});
