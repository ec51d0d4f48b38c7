import { defaultPolicy, type EndRecord } from '@agentjet/ledger';
import { completedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { shortenAnswer, shortenQuery, toEpisodeLine } from './episode-line.js';
import { readEnd } from './read-end.js';
import { sealEpisode } from './seal-episode.js';

it('keeps the text of a task up to 4000 characters, and says how long a longer one is', () => {
  const long = 'x'.repeat(5000);
  expect(shortenQuery('x'.repeat(4000))).toHaveLength(4000);
  expect(shortenQuery(long)).toMatch(/^x+ \.\.\. \(5000 characters\)$/);
  expect(shortenQuery(shortenQuery(long))).toBe(shortenQuery(long));
});

it('keeps the beginning and the end of a long answer', () => {
  const long = `${'a'.repeat(3000)} The answer is 42.`;
  const kept = shortenAnswer(long);
  expect(kept).toHaveLength(2000);
  expect(kept).toMatch(/^a{500}\n\.\.\. \(3018 characters\) \.\.\.\na+ The answer is 42\.$/);
  expect(shortenAnswer(kept)).toBe(kept);
});

it('is the same for an episode that was sealed and read again', () => {
  const times = { beganMs: 1.5, endedMs: 9, waitedMs: 0, promptMs: 2, samplingMs: 5 };
  const turn = { turnId: 'e/0', index: 0, agentName: 'a', targetTag: 'a', promptTokens: 2, reusedTokens: 0 };
  const rest = { generatedTokens: 1, policyVersion: 3, isTruncated: false, fork: null, sample: null, splices: [] };
  const episode = completedEpisode({
    task: { taskId: 't', mainQuery: 'What is 6 x 7?', initMessages: [], metadata: { answer: 42 } },
    repeatIndex: 1,
    seed: 5,
    turns: [{ ...turn, ...rest, foreignMessages: {}, parts: [], times }],
    seconds: 2,
    beganAt: Date.UTC(2026, 10, 27, 12),
    answer: 'It is 42.',
    reason: 'The answer is 42.',
  });
  const { content } = sealEpisode(episode, 3);
  const end = { seconds: 2, tokens: 0, status: 'completed', content } as EndRecord;
  const again = readEnd({ episodeId: 'e', end, reward: 1, isSuccess: true }, defaultPolicy);
  expect(toEpisodeLine(again)).toEqual(toEpisodeLine(episode));
  expect(toEpisodeLine(again)).toMatchObject({
    answer: 'It is 42.',
    began_at: '2026-11-27T12:00:00.000Z',
    turns: [{ times: { began_ms: 1.5, waited_ms: 0, prompt_ms: 2, sampling_ms: 5, ended_ms: 9 } }],
  });
});
