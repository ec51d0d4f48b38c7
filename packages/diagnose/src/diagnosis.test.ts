import type { CommonConfig } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import type { MetricsRecord } from '@agentjet/run-folder';
import { Diagnosis } from './diagnosis.js';
import type { EpisodeFacts } from './rule.js';

const config = { rollout: { maxResponseLengthInOneTurn: 256, maxModelLen: 2048 } } as CommonConfig;
const step = (number: number, answers: number, cut: number) => ({ step: number, answers, answers_cut: cut });
const messages = (diagnosis: Diagnosis, line: MetricsRecord, episodes: readonly EpisodeFacts[]) =>
  diagnosis.look({ step: line }, episodes).map(({ message }) => message);

describe('cut answers', () => {
  it('are reported once, with their share and the limits', () => {
    const diagnosis = new Diagnosis(config);
    expect(messages(diagnosis, step(1, 100, 12), [])).toEqual([
      expect.stringMatching(
        /^12 of 100 answers of step 1 \(12%\) .* rollout\.max_response_length_in_one_turn \(now 256\)/,
      ),
    ]);
    expect(messages(diagnosis, step(2, 100, 50), [])).toEqual([]);
  });

  it('are looked for in the last five steps', () => {
    const diagnosis = new Diagnosis(config);
    for (let number = 1; number <= 6; number++) expect(messages(diagnosis, step(number, 100, 4), [])).toEqual([]);
    expect(messages(diagnosis, step(7, 100, 9), [])).toEqual([
      expect.stringContaining('25 of 500 answers of the last 5 steps (5%)'),
    ]);
  });

  it('are not reported of a few answers, nor of records without the metric', () => {
    const diagnosis = new Diagnosis(config);
    expect(messages(diagnosis, step(1, 19, 19), [])).toEqual([]);
    expect(messages(new Diagnosis(config), { step: 1 }, [])).toEqual([]);
  });
});

describe('swallowed errors', () => {
  const call = { agent_name: 'anna', message: 'option "x" is not known', times: 2 };

  it('are reported once with the message, and an episode that shows them', () => {
    const diagnosis = new Diagnosis(config);
    const episodes = [{ episode_id: 'a' }, { episode_id: 'b', swallowed_errors: [call] }];
    expect(diagnosis.look({ evaluation: { step: 0 } }, episodes)).toEqual([
      {
        message: expect.stringMatching(
          /^In 1 of 2 episodes .* agent "anna" in episode b: option "x" is not known\. Repair/,
        ),
      },
    ]);
    expect(diagnosis.look({ step: step(1, 10, 0) }, episodes)).toEqual([]);
  });
});
