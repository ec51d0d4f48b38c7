import { expect, it } from 'vitest';
import type { JobResult } from '@agentjet/records';
import { formatEvent } from './event-lines.js';

it('a step is one line, with its failures if there are some', () => {
  const metrics = {
    reward_mean: 0.5,
    success_rate: 0.25,
    loss: 0.0123,
    grad_norm: 1.5,
    entropy: 2,
    generated_tokens: 2048,
    seconds_sampling: 1.23,
    seconds_training: 0.4,
  };
  const line = formatEvent({ type: 'step_finished', step: 3, totalSteps: 60, metrics });
  expect(line).toBe(
    'step  3/60  reward 0.500  success 0.250  loss 0.0123  grad 1.50  entropy 2.000  tokens 2.0k  sampling 1.2 s  training 0.4 s',
  );
  expect(
    formatEvent({ type: 'step_finished', step: 3, totalSteps: 60, metrics: { ...metrics, failed_episodes: 2 } }),
  ).toBe(`${line}  failed 2`);
  const waits = { seconds_queued: 0.21, seconds_sync: 0.09 };
  expect(formatEvent({ type: 'step_finished', step: 3, totalSteps: 60, metrics: { ...metrics, ...waits } })).toBe(
    `${line} (queued 0.2 s, syncing 0.1 s)`,
  );
});

it('a step that trained nothing shows no loss and no entropy instead of zeros', () => {
  const metrics = {
    reward_mean: 0.5,
    success_rate: 0.25,
    loss: 0,
    grad_norm: 0,
    entropy: 0,
    trained_tokens: 0,
    generated_tokens: 2048,
    seconds_sampling: 1.23,
    seconds_training: 0,
  };
  const line = formatEvent({ type: 'step_finished', step: 3, totalSteps: 60, metrics });
  expect(line).toBe(
    'step  3/60  reward 0.500  success 0.250  loss -  grad -  entropy -  tokens 2.0k  sampling 1.2 s  training 0.0 s',
  );
});

it('an evaluation says of what', () => {
  const evaluation = {
    step: 0,
    episodes: 4,
    failedEpisodes: 0,
    successRate: 0.5,
    rewardMean: 0.25,
    answers: 8,
    cutAnswers: 0,
    generatedTokens: 9,
    seconds: 1,
    logMetrics: {},
  };
  expect(formatEvent({ type: 'evaluated', evaluation })).toMatch(/^evaluation before training: success 0\.500/);
  expect(formatEvent({ type: 'evaluated', evaluation: { ...evaluation, step: 3 } })).toMatch(
    /^evaluation after step 3: success/,
  );
  expect(formatEvent({ type: 'evaluated', evaluation, subject: 'nano' })).toMatch(/^evaluation of nano: success/);
  const passes = { episodesPerTask: 8, any: 0.9, all: 0.1 };
  expect(formatEvent({ type: 'evaluated', evaluation: { ...evaluation, passes } })).toContain(
    'success 0.500  pass@8 0.900  all-pass 0.100  reward',
  );
});

it('a run says what is before it, a finished one that nothing is', () => {
  const plan = { firstStep: 1, totalSteps: 4, tasksPerStep: 2, episodesPerTask: 8 };
  const started = (firstStep: number) =>
    formatEvent({ type: 'run_started', runDir: '/r', model: 'nano', plan: { ...plan, firstStep } });
  expect([1, 3, 5].map(started)).toEqual([
    'run /r: 4 steps of 2 tasks, 8 episodes each, model nano',
    'run /r: from step 3 of 4 steps of 2 tasks, 8 episodes each, model nano',
    'run /r: its 4 steps are made, model nano',
  ]);
  expect(
    formatEvent({
      type: 'run_started',
      runDir: '/r',
      model: 'nano',
      plan: { firstStep: 1, totalSteps: 1, tasksPerStep: 1, episodesPerTask: 1 },
    }),
  ).toBe('run /r: 1 step of 1 task, 1 episode each, model nano');
});

it('the end shows where the time went and where the model is', () => {
  const result: JobResult = {
    runDir: '/runs/a',
    modelDir: '/runs/a/checkpoints/step-000002',
    successBefore: 0.25,
    successAfter: 0.875,
    seconds: 100,
    secondsSampling: 50,
    secondsTraining: 30,
    secondsEvaluating: 10,
    policyVersion: 2,
    isInterrupted: false,
  };
  expect(formatEvent({ type: 'run_finished', result })?.split('\n')).toEqual([
    'done after 1 min 40 s: sampling 50 s, training 30 s, evaluation 10 s, rest 10 s',
    'success 0.250 -> 0.875',
    'model  /runs/a/checkpoints/step-000002',
    'run    /runs/a',
  ]);
});
