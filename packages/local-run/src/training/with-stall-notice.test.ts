import { expect, it } from 'vitest';
import { nothingTracked } from '@agentjet/rollout';
import { completedEpisode } from '@agentjet/rollout/testing';
import type { JobEvent } from '@agentjet/records';
import { withStallNotice } from './with-stall-notice.js';

function episodeWith(numCalls: number): JobEvent {
  const episode = completedEpisode({ stats: { ...nothingTracked, calls: numCalls } });
  return { type: 'episode_finished', phase: 'sample', step: 1, episode };
}

const stepWith = (step: number, metrics: Readonly<Record<string, number>>): JobEvent => ({
  type: 'step_finished',
  step,
  totalSteps: 9,
  metrics: { groups: 2, ...metrics },
});

function noticesOf(events: readonly JobEvent[], targets: readonly string[] | null = null): readonly string[] {
  const notices: string[] = [];
  const listener = withStallNotice((event) => void (event.type === 'notice' && notices.push(event.message)), targets);
  for (const event of events) listener(event);
  return notices;
}

it('says once that no model was asked, and how to change that', () => {
  const stalled = { groups_skipped: 2, policy_version: 0 };
  const notices = noticesOf([episodeWith(0), stepWith(1, stalled), episodeWith(0), stepWith(2, stalled)]);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(/No episode asked a tuned model .* asModel\(tuner, .*trainable_targets/);
});

it('shows the trainable targets, one of which may be misspelt', () => {
  expect(noticesOf([episodeWith(0), stepWith(1, { groups_skipped: 2, policy_version: 0 })], ['wolf', 'sear'])).toEqual([
    expect.stringContaining('trainable_targets, which is [wolf, sear], names its target'),
  ]);
});

it('says that all episodes that could teach something were too long', () => {
  expect(
    noticesOf([episodeWith(3), stepWith(1, { groups_skipped: 1, policy_version: 0, dropped_episodes: 4 })]),
  ).toEqual([expect.stringMatching(/^Step 1 changed nothing: 4 episodes .*were dropped\. .*max_prompt_length/)]);
});

it('keeps quiet in a run that learns, and in one whose later steps have nothing to teach', () => {
  expect(
    noticesOf([
      episodeWith(3),
      stepWith(1, { groups_skipped: 1, policy_version: 1 }),
      episodeWith(3),
      stepWith(2, { groups_skipped: 2, policy_version: 1 }),
    ]),
  ).toEqual([]);
});

it('leaves runs in which every episode failed to what is said of them elsewhere', () => {
  expect(noticesOf([stepWith(1, { groups_skipped: 2, policy_version: 0 })])).toEqual([]);
});

it('names the missing await if calls were running when the workflow returned', () => {
  const begun = episodeWith(0);
  if (begun.type !== 'episode_finished') throw new Error('not an episode');
  const swallowedErrors = [{ agentName: 'a', code: 'unawaited', message: 'Is an await missing? flow.ts:4', times: 1 }];
  const events = [{ ...begun, episode: { ...begun.episode, swallowedErrors } }, stepWith(1, { policy_version: 0 })];
  expect(noticesOf(events)).toEqual([expect.stringMatching(/returned too early\. Is an await missing\? flow\.ts:4/)]);
});
