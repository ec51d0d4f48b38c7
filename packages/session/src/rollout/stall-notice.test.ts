import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { noticeStalls } from './stall-notice.js';

it('tells once of a loop that stood still, and names the setting', async () => {
  const notices: string[] = [];
  const stop = noticeStalls((message) => notices.push(message), 64);
  for (let round = 0; round < 2; round++) {
    const end = performance.now() + 1400;
    while (performance.now() < end);
    await pause(10);
    await vi.waitFor(() => expect(notices).toHaveLength(1));
  }
  stop();
  expect(notices[0]).toMatch(/stood still for 1\.\d s.*rollout\.max_env_worker \(64\)/);
});
