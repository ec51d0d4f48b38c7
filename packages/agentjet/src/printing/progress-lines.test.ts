import type { JobEvent } from '@agentjet/records';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLineListener } from './event-lines.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const finished = (reward: number): JobEvent =>
  ({
    type: 'episode_finished',
    phase: 'evaluate',
    step: 0,
    episode: { status: 'completed', reward },
  }) as unknown as JobEvent;

it('shows the progress of a long evaluation, also before its first episode has ended, and nothing after it', () => {
  const lines: string[] = [];
  const listener = createLineListener((line) => lines.push(line));
  listener({ type: 'phase_started', phase: 'evaluate', step: 0, episodes: 100 });
  vi.advanceTimersByTime(15_000);
  for (let episode = 0; episode < 20; episode++) listener(finished(0.5));
  vi.advanceTimersByTime(15_000);
  listener({ type: 'phase_finished', phase: 'evaluate', step: 0, seconds: 30 });
  vi.advanceTimersByTime(60_000);
  expect(lines).toEqual([
    'evaluating: 0/100 episodes after 15 s',
    'evaluating: 20/100 episodes after 30 s, reward 0.500, 2 min 0 s left',
  ]);
});

it('names the step, and says nothing of short phases', () => {
  const lines: string[] = [];
  const listener = createLineListener((line) => lines.push(line));
  listener({ type: 'phase_started', phase: 'train', step: 3, episodes: 8 });
  listener({ type: 'phase_started', phase: 'sample', step: 4, episodes: 8 });
  vi.advanceTimersByTime(15_000);
  listener({ type: 'phase_finished', phase: 'sample', step: 4, seconds: 15 });
  listener({ type: 'phase_started', phase: 'evaluate', step: 4, episodes: 8 });
  vi.advanceTimersByTime(14_000);
  listener({ type: 'phase_finished', phase: 'evaluate', step: 4, seconds: 14 });
  expect(lines).toEqual(['step 4 sampling: 0/8 episodes after 15 s']);
});

it('shows no time left while the run is paused', () => {
  const lines: string[] = [];
  const listener = createLineListener((line) => lines.push(line));
  listener({ type: 'phase_started', phase: 'evaluate', step: 0, episodes: 4 });
  listener({ type: 'pause', isHeld: true });
  vi.advanceTimersByTime(15_000);
  listener(finished(1));
  vi.advanceTimersByTime(15_000);
  listener({ type: 'pause', isHeld: false });
  vi.advanceTimersByTime(15_000);
  listener({ type: 'phase_finished', phase: 'evaluate', step: 0, seconds: 45 });
  expect(lines).toEqual([
    'evaluating: 0/4 episodes after 15 s, paused',
    'evaluating: 1/4 episodes after 30 s, reward 1.000, paused',
    'evaluating: 1/4 episodes after 45 s, reward 1.000, 2 min 15 s left',
  ]);
});

it('counts attempts that the world lost apart from the episodes', () => {
  const lines: string[] = [];
  const listener = createLineListener((line) => lines.push(line));
  const lost = {
    type: 'episode_finished',
    phase: 'sample',
    step: 1,
    episode: { status: 'failed', error: { outage: { source: 'model' } } },
  } as unknown as JobEvent;
  listener({ type: 'phase_started', phase: 'sample', step: 1, episodes: 3 });
  for (let attempt = 0; attempt < 7; attempt++) listener(lost);
  vi.advanceTimersByTime(15_000);
  listener({ type: 'phase_finished', phase: 'sample', step: 1, seconds: 15 });
  expect(lines).toEqual(['step 1 sampling: 0/3 episodes after 15 s, 7 attempts lost to outages']);
});
