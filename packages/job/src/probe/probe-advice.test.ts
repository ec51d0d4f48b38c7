import { createConfig } from '@agentjet/inputs/testing';
import { expect, it } from 'vitest';
import { adviseProbe, type AdviceParts } from './probe-advice.js';
import type { Rate } from '@agentjet/core/success';
import type { TemperatureReport } from './probe-report.js';

const rate = (value: number): Rate => ({ rate: value, low: value, high: value });
const report = (changes: Partial<TemperatureReport> = {}): TemperatureReport => ({
  temperature: 1,
  episodes: 256,
  failedEpisodes: 0,
  lostEpisodes: 0,
  rewardMean: 0.4,
  success: rate(0.4),
  solvedOnce: rate(0.8),
  groupsThatTrain: [],
  cutAnswers: rate(0),
  unreadCalls: rate(0),
  ...changes,
});
const advise = (chosen: Partial<TemperatureReport>, changes: Partial<AdviceParts> = {}): readonly string[] =>
  adviseProbe({
    config: createConfig(),
    chosen: report(chosen),
    all: [report(chosen)],
    expected: rate(0.7),
    forms: undefined,
    calls: 256,
    firstError: undefined,
    ...changes,
  });

it('is silent if a run has enough to learn from', () => {
  expect(advise({})).toEqual([]);
  expect(advise({ cutAnswers: rate(0.04) })).toEqual([]);
});

it('names imitation, example turns and easier tasks if nothing is ever solved', () => {
  const [advice = '', ...others] = advise({ success: rate(0), solvedOnce: rate(0) }, { expected: rate(0) });
  expect(others).toEqual([]);
  for (const way of ['example turns', 'ajet sft', 'easier tasks']) expect(advice).toContain(way);
});

it('says nothing about the tasks if no episode completed or asked the model', () => {
  const none = { success: rate(0), solvedOnce: rate(0) };
  const failed = advise({ ...none, failedEpisodes: 256 }, { expected: rate(0), firstError: 'no key.' });
  expect(failed).toEqual([expect.stringMatching(/^256 of 256 episodes failed/)]);
  const silent = advise({ ...none, success: rate(1) }, { expected: rate(0), calls: 0 });
  expect(silent).toEqual([expect.stringMatching(/^No episode asked a tuned model/)]);
});

it('distinguishes tasks that are too easy from tasks that are too hard', () => {
  expect(advise({ success: rate(0.99) }, { expected: rate(0.1) })[0]).toMatch(
    /^The tasks are too easy: success is 0\.99/,
  );
  expect(advise({ success: rate(0.05) }, { expected: rate(0.1) })[0]).toMatch(/^Only 10% of the groups train\./);
});

it('says which reading of tool calls fits', () => {
  const forms = { tagged: 6, untagged: 18 };
  expect(advise({ unreadCalls: rate(0.7) }, { forms })[0]).toMatch(/^18 of 24 .*model\.tool_calls=lenient/);
  expect(advise({ unreadCalls: rate(0.7) }, { forms: { tagged: 6, untagged: 0 } })[0]).toMatch(/^70% of the answers/);
});

it('names cut answers, failures and an agent that asks no tuned model', () => {
  expect(advise({ cutAnswers: rate(0.12) })[0]).toMatch(
    /^12% of the answers .*max_response_length_in_one_turn \(256\)/,
  );
  expect(advise({ failedEpisodes: 9 }, { firstError: 'no key.' })[0]).toMatch(/^9 of 256 episodes failed.*no key\./);
  expect(advise({ failedEpisodes: 9 }, { firstError: 'no {key}' })[0]).toContain('no {key}. `--backbone=debug`');
  expect(advise({}, { calls: 0 })[0]).toMatch(/^No episode asked a tuned model/);
});
