import { PassThrough } from 'node:stream';
import { nothingTracked } from '@agentjet/rollout';
import { completedEpisode } from '@agentjet/rollout/testing';
import type { JobEvent } from 'agentjet';
import { expect, it } from 'vitest';
import { createTerminalListener } from './terminal.js';

class FakeTerminal extends PassThrough {
  readonly isTTY = true;
  readonly columns = 120;
  text = '';

  override write(chunk: string): boolean {
    this.text += chunk;
    return true;
  }
}

const stats = { ...nothingTracked, calls: 1, generatedTokens: 500, trainedTokens: 500, samples: 1 };
const createEpisode = (reward: number) => completedEpisode({ stats, reward, isSuccess: reward === 1 });

it('shows a bar with rewards, tokens and time left, and leaves a line at its end', () => {
  const stream = new FakeTerminal();
  const listener = createTerminalListener(stream);
  const events: JobEvent[] = [
    {
      type: 'run_started',
      runDir: '/runs/a',
      model: 'nano',
      plan: { firstStep: 1, totalSteps: 5, tasksPerStep: 2, episodesPerTask: 1 },
    },
    { type: 'phase_started', phase: 'sample', step: 1, episodes: 2 },
    { type: 'episode_finished', phase: 'sample', step: 1, episode: createEpisode(1) },
    { type: 'episode_finished', phase: 'sample', step: 1, episode: createEpisode(0) },
    { type: 'phase_finished', phase: 'sample', step: 1, seconds: 1 },
    { type: 'step_finished', step: 1, totalSteps: 5, metrics: { reward_mean: 0.5 } },
  ];
  for (const event of events) listener(event);
  expect(stream.text).toContain('step 1/5 sampling [');
  expect(stream.text).toMatch(/2\/2 {2}reward 0\.500 {2}1\.0k tokens {2}0\.0 s left/);
  expect(stream.text).toContain('step 1/5  reward 0.500');
  const shown = stream.text.lastIndexOf('\u001B[?25h');
  expect(shown).toBeGreaterThan(stream.text.lastIndexOf('\u001B[?25l'));
});

it('shows no time left while the run is paused', () => {
  const stream = new FakeTerminal();
  const listener = createTerminalListener(stream);
  listener({ type: 'phase_started', phase: 'sample', step: 1, episodes: 2 });
  listener({ type: 'pause', isHeld: true });
  listener({ type: 'episode_finished', phase: 'sample', step: 1, episode: createEpisode(1) });
  listener({ type: 'phase_finished', phase: 'sample', step: 1, seconds: 1 });
  expect(stream.text).toMatch(/1\/2 {2}reward 1\.000 {2}500 tokens {2}paused/);
  expect(stream.text).not.toContain('left');
});
