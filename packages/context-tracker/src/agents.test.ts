import type { ChatMessage } from '@agentjet/core';
import { describe, expect, test } from 'vitest';
import { createContextTracker } from './index.js';
import { createToyChatTokenizer } from './testing.js';
import { createPlayer, showRow } from './testing/play.js';

const chatTokenizer = createToyChatTokenizer();
const user: ChatMessage = { role: 'user', content: 'the U' };
const more: ChatMessage = { role: 'user', content: 'more' };

describe('chatOf', () => {
  const thinking = createToyChatTokenizer({ thinking: 'keep' });
  const chatOf = ({ agentName }: { readonly agentName: string }) => (agentName === 'thinker' ? thinking : undefined);

  test('gives one agent a separate chat template, and all other agents the template of the episode', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer, chatOf });
    const { say } = createPlayer(tracker, chatTokenizer);
    const answer = '<think>\nhm\n</think>\n\nyes';
    const thought = say([user], answer, { agent: 'thinker' });
    const plain = say([user], answer, { agent: 'talker' });
    expect(thought).toEqual({ role: 'assistant', content: 'yes', reasoning: 'hm' });
    expect(plain).toEqual({ role: 'assistant', content: answer });
    say([user, thought, more], 'on', { agent: 'thinker' });
    say([user, plain, more], 'on', { agent: 'talker' });
    const rows = tracker.finish();
    expect(new Set(rows.map(({ agentName }) => agentName))).toEqual(new Set(['thinker', 'talker']));
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(showRow(row, chatTokenizer)).toContain(`[${answer}<|im_end|>]`);
    expect(tracker.stats()).toMatchObject({ forks: {}, foreignMessages: {} });
    expect(tracker.describe().map(({ agentName, parts }) => [agentName, parts.length])).toEqual([
      ['thinker', 1],
      ['talker', 1],
      ['thinker', 1],
      ['talker', 1],
    ]);
  });
});

describe('transcripts', () => {
  test('hold each conversation of each agent once, answers included', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    const { say } = createPlayer(tracker, chatTokenizer);
    const first = say([user], 'one', { agent: 'a' });
    say([user, first, more], 'two', { agent: 'a' });
    say([more], 'aside', { agent: 'a' });
    say([user, first, more], 'other', { agent: 'b' });
    const texts = tracker
      .transcripts()
      .map(({ agentName, messages }) => [agentName, ...messages.map(({ content }) => content)]);
    expect(texts).toEqual([
      ['a', 'the U', 'one', 'more', 'two'],
      ['a', 'more', 'aside'],
      ['b', 'the U', 'one', 'more', 'other'],
    ]);
  });

  test('show an answer that was sampled twice as two conversations', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    const { say } = createPlayer(tracker, chatTokenizer);
    say([user], 'same');
    say([user], 'same');
    expect(tracker.transcripts()).toHaveLength(2);
  });
});
