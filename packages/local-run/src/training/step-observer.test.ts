import type { MetricsRecord } from '@agentjet/run-folder';
import { createConfig } from '@agentjet/inputs/testing';
import { expect, it } from 'vitest';
import { StepObserver } from './step-observer.js';

function createObserver() {
  const trainerCommon = { ...createConfig().trainerCommon, maxEmptySteps: 3 };
  const { observer } = new StepObserver(() => undefined, { totalSteps: 60, trainerCommon });
  return (step: number, more: Partial<MetricsRecord>): void =>
    observer.onStep?.({ step, policy_version: 0, episodes: 128, failed_episodes: 0, trained_tokens: 0, ...more });
}

it('a run ends if three steps in a row trained nothing, for any reward', () => {
  for (const success_rate of [0, 1]) {
    const finish = createObserver();
    for (const step of [1, 2]) finish(step, { success_rate });
    expect(() => finish(3, { success_rate })).toThrow('3 steps in a row, up to step 3, trained nothing');
  }
});

it('a run continues if its policy has learned and solves each task always or never', () => {
  const finish = createObserver();
  for (const step of [55, 56, 57, 58]) finish(step, { success_rate: 0.9375, policy_version: 54 });
});

it('a run that has learned ends if nothing succeeds any more', () => {
  const finish = createObserver();
  for (const step of [55, 56]) finish(step, { success_rate: 0, policy_version: 54 });
  expect(() => finish(57, { success_rate: 0, policy_version: 54 })).toThrow('up to step 57');
});
