import { hostname } from 'node:os';
import { describeSelf } from '@agentjet/core/processes';
import { expect, it, vi } from 'vitest';
import { isDead, requireDead, type Owner } from './owner.js';

const self = describeSelf();
const parent: Owner = { ...self, id: 'a', term: 0, bootId: 'boot', heartbeat: Date.now(), pid: process.ppid };

it('counts a process of this machine as alive while it exists', () => {
  expect(isDead({ ...parent, started: undefined }, 'boot')).toBe(false);
  expect(isDead({ ...parent, pid: 2 ** 22 + 1 }, 'boot')).toBe(true);
  expect(isDead(parent, 'later boot')).toBe(true);
});

it.runIf(process.platform === 'linux')('counts it as dead if its pid belongs to a later process', () => {
  expect(isDead({ ...parent, started: '1' }, 'boot')).toBe(true);
});

it('knows only the pids of this container, and counts others as alive for 30 s of silence', () => {
  const other = { ...parent, pid: process.pid, space: 'pid:[1]' };
  expect(() => requireDead(other, 'boot')).toThrow(`process ${process.pid} on ${hostname()}, in another container`);
  expect(isDead({ ...other, heartbeat: Date.now() - 31_000 }, 'boot')).toBe(true);
});

it('says of another process when it started', () => {
  vi.spyOn(process, 'pid', 'get').mockReturnValue(process.ppid);
  expect(describeSelf().pid).toBe(process.ppid);
  if (process.platform === 'linux') expect(describeSelf().started).not.toBe(self.started);
  vi.restoreAllMocks();
});
