import { createConfig } from '@agentjet/inputs/testing';
import { describe, expect, it } from 'vitest';
import { EmptySteps } from './empty-steps.js';

const open = (maxEmptySteps: number | null, repair = ''): EmptySteps =>
  new EmptySteps({ trainerCommon: { ...createConfig().trainerCommon, maxEmptySteps }, repair });
const empty = { step: 7, trained_tokens: 0, policy_version: 0, episodes: 4, failed_episodes: 4 };

describe('EmptySteps', () => {
  it('fails with the last step that the limit allows, until it is reset', () => {
    const steps = open(2, 'Repair it.');
    steps.note(empty);
    expect(() => steps.check()).not.toThrow();
    steps.note({ ...empty, step: 8 });
    for (let look = 0; look < 2; look++)
      expect(() => steps.check()).toThrow(/^2 steps in a row, up to step 8, trained nothing: .* Repair it\.$/);
    steps.reset();
    expect(() => steps.check()).not.toThrow();
  });

  it('counts from the beginning after a step that trained something', () => {
    const steps = open(2);
    for (const trained of [0, 5, 0]) steps.note({ ...empty, trained_tokens: trained });
    expect(() => steps.check()).not.toThrow();
  });

  it.each([
    [{ groups_skipped: 2 }, 'trained nothing: the episodes of each task all got the same reward. Do.'],
    [
      { groups_skipped: 2, teacher_kl: 0 },
      'trained nothing: the student agrees with its teacher on each sampled token.',
    ],
    [
      { masked_episodes: 8 },
      'a token limit cut an answer of 8 episodes, and trainer_common.mask_truncated_completions',
    ],
    [{ groups_skipped: 1, dropped_episodes: 4 }, 'same reward; 4 episodes were longer than a sample (data.overlong'],
    [{ stale_episodes: 3 }, 'trained nothing: 3 episodes were too old. Do.'],
    [{}, 'trained nothing: no token had an advantage. Do.'],
  ])('names the reason of a step with %j', (metrics, message) => {
    const steps = open(1, 'Do.');
    steps.note({ ...empty, failed_episodes: 0, ...metrics });
    expect(() => steps.check()).toThrow(message);
  });

  it('says that the updates have ruined a policy that succeeded before', () => {
    const steps = open(1, 'Do.');
    const failing = { ...empty, failed_episodes: 0, groups_skipped: 2, policy_version: 2, success_rate: 0 };
    steps.note({ ...failing, trained_tokens: 9, success_rate: 0.75 });
    steps.note(failing);
    expect(() => steps.check()).toThrow(
      /same reward\. The model has collapsed: success in training is 0\.000 over step 7, after 0\.750 before, and nothing is left to train\. Begin again with a lower trainer_common\.optim\.lr \(now auto\).* Do\.$/,
    );
  });

  it('says nothing about updates if no episode ever succeeded', () => {
    const steps = open(1, 'Do.');
    steps.note({ ...empty, failed_episodes: 0, groups_skipped: 2, policy_version: 2, success_rate: 0 });
    expect(() => steps.check()).toThrow('same reward. Do.');
  });

  it('has no limit if it is null', () => {
    const steps = open(null);
    for (let step = 0; step < 9; step++) steps.note(empty);
    expect(() => steps.check()).not.toThrow();
  });
});
