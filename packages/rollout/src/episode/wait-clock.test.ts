import { expect, it } from 'vitest';
import { describeTimeout, WaitClock } from './wait-clock.js';

it('calls that overlap are waited for at once', () => {
  const clock = new WaitClock();
  const [first, second] = [clock.begin(), clock.begin()];
  first();
  first();
  expect(clock.read()).toMatchObject({ numCalls: 2, numRunning: 1 });
  second();
  const { waitedMs } = clock.read();
  expect(clock.read()).toEqual({ numCalls: 2, numRunning: 0, waitedMs });
});

it('an episode that waited for its models says so, and what helps', () => {
  const waited = describeTimeout(300_000, 'rollout.episode_timeout', {
    numCalls: 23,
    numRunning: 1,
    waitedMs: 281_000,
  });
  expect(waited).toBe(
    'The workflow was still running after 300 s. It waited 281.0 s for its models (23 calls, 1 of them without an answer yet) and ran 19.0 s of other code. Raise rollout.episode_timeout, or let fewer episodes share the sampler (rollout.max_env_worker) or answer in fewer tokens (rollout.max_response_length_in_one_turn).',
  );
  const busy = describeTimeout(300_000, 'x', { numCalls: 1, numRunning: 0, waitedMs: 1000 });
  expect(busy).toContain(
    '(1 call, 0 of them without an answer yet) and ran 299.0 s of other code. Make it faster, or raise x.',
  );
  expect(describeTimeout(1000, 'x', { numCalls: 0, numRunning: 0, waitedMs: 0 })).toContain('It called no model.');
});

it('a measured call is the promise of the call itself, so that one which nobody awaits stays silent', async () => {
  const clock = new WaitClock();
  const answer = Promise.reject(new Error('closed'));
  answer.catch(() => undefined);
  expect(clock.measure(() => answer)).toBe(answer);
  await expect(answer).rejects.toThrow('closed');
  expect(clock.read()).toMatchObject({ numCalls: 1, numRunning: 0 });
});
