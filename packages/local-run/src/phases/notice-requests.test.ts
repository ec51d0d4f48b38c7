import type { Episode } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import type { JobEvent } from '@agentjet/records';
import { noticeRequests } from './notice-requests.js';

function noticesOf(episodes: readonly object[], policy = 'split'): readonly string[] {
  const notices: string[] = [];
  const listener = noticeRequests((event) => void (event.type === 'notice' && notices.push(event.message)), policy);
  for (const part of episodes) {
    const episode = { ignoredParameters: {}, stats: { specialTokens: {} }, ...part } as unknown as Episode;
    listener({ type: 'episode_finished', phase: 'sample', step: 1, episode } satisfies JobEvent);
  }
  return notices;
}

it('reports each parameter without effect once, with the agent', () => {
  const ignored = { ignoredParameters: { anna: { reasoning_effort: 3 }, bert: { verbosity: 1 } } };
  expect(noticesOf([{}, ignored, ignored])).toEqual([
    expect.stringContaining('Agent "anna" asks for reasoning_effort'),
    expect.stringContaining('Agent "bert" asks for verbosity'),
  ]);
});

it('reports special tokens in text once, and what becomes of them', () => {
  const special = { stats: { specialTokens: { anna: { tool: 4 } } } };
  expect(noticesOf([special, special])).toEqual([expect.stringMatching(/role tool .* "anna" .* plain text/)]);
  expect(noticesOf([special], 'as_template')).toEqual([expect.stringContaining('can forge turns')]);
});
