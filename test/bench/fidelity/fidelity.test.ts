import type { ChatMessage } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import { benchFidelity, formatFidelity } from './bench.js';
import { countTransitions, type RecordedCall } from './transitions.js';

it('keeps the model’s own ids through every framework', async () => {
  const result = await benchFidelity({ transitions: 24, seed: 5 });
  const table = formatFidelity(result);
  for (const [, { native, native_unedited: unedited, http, wrong_splices: wrong }] of Object.entries(result)) {
    expect(native, table).toBe(1);
    expect(unedited, table).toBeGreaterThan(0.5);
    expect(unedited, table).toBeLessThan(1);
    expect(http ?? 1, table).toBeGreaterThanOrEqual(0.95);
    expect(wrong, table).toBe(0);
  }
});

describe('countTransitions', () => {
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
  const { tokenizer } = chatTokenizer;
  const header = '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n';
  const question: ChatMessage = { role: 'user', content: 'hi' };

  const call = (prompt: string, answer: string, messages: readonly ChatMessage[]): RecordedCall => {
    const ids = tokenizer.encode(`${answer}<|im_end|>`);
    const completion = { ids, logprobs: new Float32Array(ids.length), finishReason: 'stop' as const, policyVersion: 0 };
    const request = {
      promptIds: tokenizer.encode(prompt),
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 9, stopIds: [], seed: 0 },
    };
    return { sent: { messages }, engine: { index: 0, text: prompt, request, outcome: 'answered', completion } };
  };
  const say = (content: string): ChatMessage => ({ role: 'assistant', content });

  it('distinguishes exact continuations, forks and wrong splices', () => {
    const first = call(header, 'one', [question]);
    const next = (ownTurn: string, sentTurn: string) =>
      call(`${header}${ownTurn}<|im_end|>\n${header}`, 'two', [question, say(sentTurn), question]);
    const count = (second: RecordedCall) => countTransitions([first, second], chatTokenizer);
    expect(count(next('one', 'one'))).toEqual({ transitions: 1, kept: 1, wrongSplices: 0 });
    expect(count(next('edited', 'edited'))).toEqual({ transitions: 1, kept: 0, wrongSplices: 0 });
    const other = call(header, 'other', [question]);
    const wrong = countTransitions([other, first, next('other', 'one')], chatTokenizer);
    expect(wrong).toMatchObject({ kept: 0, wrongSplices: 1 });
  });
});
