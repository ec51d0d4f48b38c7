import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { noticeStalls, type CpuClock } from './notice-stalls.js';

/** Blocks the loop, and returns what was reported. */
async function block(rounds: number, cpuClock: CpuClock): Promise<readonly string[]> {
  const notices: string[] = [];
  const onNotice = (message: string): void => void notices.push(message);
  const stop = noticeStalls({ onNotice, numWorkers: () => 64, cpuClock });
  for (let round = 0; round < rounds; round++) {
    const end = performance.now() + 1300;
    while (performance.now() < end);
    await pause(10);
    await vi.waitFor(() => expect(notices).toHaveLength(1));
  }
  stop();
  return notices;
}

it('blames code that computes, once, and names the setting', async () => {
  const [notice] = await block(2, () => performance.now());
  expect(notice).toMatch(
    /did not turn for 1\.\d s, of which this thread computed 1\.\d s.*rollout\.max_env_worker \(64\)/,
  );
});

it('does not blame code if the thread had no processor time', async () => {
  const [notice] = await block(1, () => 0);
  expect(notice).toMatch(/of which this thread computed 0\.0 s: the machine is busy/);
});

it('does not blame code if the platform does not report processor time', async () => {
  const [notice] = await block(1, () => undefined);
  expect(notice).toMatch(/did not turn for 1\.\d s: the machine is busy/);
});
