import { nameGivenInCode } from '@agentjet/core';
import type { JobInputs } from '@agentjet/inputs';
import { createConfig } from '@agentjet/inputs/testing';
import { describe, expect, it } from 'vitest';
import { requirePossible } from './require-possible.js';

const policies = { planner: { trainableTargets: ['planner'] }, worker: { trainableTargets: ['worker'] } };
type Input = Parameters<typeof createConfig>[0];

const check = (input: Input = {}, inputs: Partial<JobInputs> = {}) =>
  requirePossible(
    createConfig({ ...input, swarm: { ...input?.swarm, policies: policies as never } }),
    inputs as JobInputs,
  );

describe('a run of several policies', () => {
  it('accepts the default settings', () => {
    expect(() => check()).not.toThrow();
  });

  it.each<[string, Input, RegExp]>([
    ['choosing tasks by difficulty', { taskReader: { difficulty: { samples: 4 } } }, /difficulty\.samples is 4/],
    ['shares of tasks', { swarm: { shares: [{ name: 'math', part: 1 }] } }, /Remove swarm\.shares/],
    ['steps at the request of clients', { swarm: { sampleCollection: 'any_client_asks' } }, /is any_client_asks/],
    ['a backbone given in code', { backbone: nameGivenInCode('mine') }, /backbone is given in code\. Name it/],
  ])('refuses %s, and names the policies and the repair', (_name, input, problem) => {
    expect(() => check(input)).toThrow(problem);
    expect(() => check(input)).toThrow('swarm.policies names planner, worker. With several policies, ');
  });

  it('refuses a judge of groups, and workflows in other processes', () => {
    const judge = { judgeGroup: async () => [] } as never;
    expect(() => check({}, { judge })).toThrow(/scores whole groups/);
    const processes = { entry: new URL('file:///entry.js'), hasReadersEnvironment: false };
    expect(() => check({}, { processes })).toThrow(/Set rollout\.workflow_processes to 0/);
  });
});
