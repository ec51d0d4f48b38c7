import { beforeEach, expect, it, vi } from 'vitest';
import type { JobResult } from '@agentjet/records';
import { formatEvent } from './event-lines.js';
import { showCommand } from './see-run.js';

beforeEach(() => {
  vi.stubEnv('SSH_CONNECTION', undefined);
  return () => vi.unstubAllEnvs();
});

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
    interval: { low: 0.15, high: 0.85 },
    temperature: 0,
    scores: [],
    rewardMean: 0.25,
    answers: 8,
    cutAnswers: 0,
    generatedTokens: 9,
    seconds: 1,
    logMetrics: {},
  };
  expect(formatEvent({ type: 'evaluated', evaluation })).toBe(
    'evaluation before training: success 0.500 (95% 0.150-0.850)  reward 0.250  (4 episodes at temperature 0, 1.0 s)',
  );
  expect(formatEvent({ type: 'evaluated', evaluation: { ...evaluation, step: 3 } })).toMatch(
    /^evaluation after step 3: success/,
  );
  expect(formatEvent({ type: 'evaluated', evaluation, subject: 'nano' })).toMatch(/^evaluation of nano: success/);
  const passes = { episodesPerTask: 8, any: 0.9, all: 0.1 };
  expect(formatEvent({ type: 'evaluated', evaluation: { ...evaluation, passes } })).toContain(
    'success 0.500 (95% 0.150-0.850)  pass@8 0.900  all-pass 0.100  reward',
  );
});

it('an evaluation shows its change, success as sampled in training, and each kind of task', () => {
  const interval = { low: 0.1, high: 0.9 };
  const evaluation = {
    step: 20,
    episodes: 4,
    failedEpisodes: 1,
    successRate: 0.5,
    interval,
    temperature: 0,
    scores: [],
    kinds: [
      { kind: 'sum', successRate: 1, interval: { low: 0.4, high: 1 }, tasks: 3 },
      { kind: 'date', successRate: 0, interval: { low: 0, high: 0.8 }, tasks: 1 },
    ],
    change: { difference: 0.25, low: -0.1, high: 0.5, sinceStep: 0, tasks: 4 },
    sampled: { temperature: 0.7, successRate: 0.25, interval, episodes: 4 },
    rewardMean: 0.25,
    answers: 8,
    cutAnswers: 0,
    generatedTokens: 9,
    seconds: 1,
    logMetrics: {},
  };
  expect(formatEvent({ type: 'evaluated', evaluation })?.split('\n')).toEqual([
    'evaluation after step 20: success 0.500 (95% 0.100-0.900)  change +0.250 (95% -0.100 to 0.500, within noise)  ' +
      'at temperature 0.7 0.250 (95% 0.100-0.900)  reward 0.250  (4 episodes at temperature 0, 1 failed, 1.0 s)',
    '  by kind: sum 1.000 (95% 0.400-1.000), 3 tasks; date 0.000 (95% 0.000-0.800), 1 task',
  ]);
});

it('a run says what is before it, a finished one that nothing is', () => {
  const plan = { firstStep: 1, totalSteps: 4, tasksPerStep: 2, episodesPerTask: 8 };
  const started = (firstStep: number) =>
    formatEvent({ type: 'run_started', runDir: '/r', model: 'nano', plan: { ...plan, firstStep } });
  expect([1, 3, 5].map(started)).toEqual([
    'run /r: 4 steps of 2 tasks, 8 episodes each, model nano\nsee it ajet studio /r',
    'run /r: from step 3 of 4 steps of 2 tasks, 8 episodes each, model nano\nsee it ajet studio /r',
    'run /r: its 4 steps are made, model nano\nsee it ajet studio /r',
  ]);
  expect(
    formatEvent({
      type: 'run_started',
      runDir: '/r',
      model: 'nano',
      plan: { firstStep: 1, totalSteps: 1, tasksPerStep: 1, episodesPerTask: 1 },
    }),
  ).toBe('run /r: 1 step of 1 task, 1 episode each, model nano\nsee it ajet studio /r');
});

it('on a remote host, a run also prints the tunnel to the studio', () => {
  const env = { SSH_CONNECTION: '10.0.0.9 50122 192.0.2.7 22', USER: 'eve' };
  expect(showCommand('/r', env).split('\n')).toEqual([
    'see it ajet studio /r --port 8710',
    'tunnel ssh -N -L 8710:127.0.0.1:8710 eve@192.0.2.7   (on your machine)',
  ]);
  expect(showCommand('/r', { SSH_CONNECTION: '::1 50122 fd00::7 2222' })).toContain(
    'ssh -N -L 8710:127.0.0.1:8710 -p 2222 fd00::7',
  );
});

it('the end shows where the time went and where the model is', () => {
  const result: JobResult = {
    runDir: '/runs/a',
    modelDir: '/runs/a/checkpoints/step-000002',
    successBefore: 0.25,
    successAfter: 0.875,
    successChange: { difference: 0.625, low: 0.4, high: 0.8, sinceStep: 0, tasks: 40 },
    seconds: 100,
    secondsSampling: 50,
    secondsTraining: 30,
    secondsEvaluating: 10,
    policyVersion: 2,
    isInterrupted: false,
  };
  expect(formatEvent({ type: 'run_finished', result })?.split('\n')).toEqual([
    'done after 1 min 40 s: sampling 50 s, training 30 s, evaluation 10 s, rest 10 s',
    'success 0.250 -> 0.875: +0.625 (95% 0.400 to 0.800)',
    'model  /runs/a/checkpoints/step-000002',
    'run    /runs/a',
    'see it ajet studio /runs/a',
    'next   ajet inspect /runs/a --before-after',
    'next   ajet serve /runs/a',
  ]);
});
