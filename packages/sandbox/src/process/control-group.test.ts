import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openControlGroup, parentsOf } from './control-group.js';

/** A folder takes the place of the kernel's file system. */
const root = mkdtempSync(path.join(tmpdir(), 'groups-'));
afterAll(() => rmSync(root, { recursive: true }));

it('makes a group of version 2 next to the group of this process, if it may limit memory and processes', () => {
  const groups = '0::/app.slice/agent.scope\n';
  const slice = path.join(root, 'app.slice');
  mkdirSync(slice);
  writeFileSync(path.join(root, 'cgroup.controllers'), 'cpu memory pids\n');
  expect(parentsOf(groups, root)).toBeNull();
  writeFileSync(path.join(slice, 'cgroup.subtree_control'), 'memory pids\n');
  expect(parentsOf(groups, root)).toEqual({ version: 2, unified: slice });
  expect(parentsOf('0::/\n', root)).toBeNull(); // a group with processes cannot contain groups with limits
});

it('makes groups of version 1 in the groups of this process', () => {
  const groups = '9:cpu,cpuacct:/\n8:pids:/user\n4:memory:/agent\n0::/\n';
  const [memory, pids] = [path.join(root, 'memory/agent'), path.join(root, 'pids/user')];
  expect(parentsOf(groups, root)).toEqual({ version: 1, memory, pids });
});

it('limits a group, and says when it was out of memory', () => {
  const folder = path.join(root, 'app.slice');
  const group = openControlGroup({ version: 2, unified: folder }, { bytes: 1e8, tasks: 64 });
  const [entry = ''] = group.entries;
  const read = (name: string) => readFileSync(path.join(path.dirname(entry), name), 'utf8');
  expect([read('memory.max'), read('pids.max'), read('memory.oom.group')]).toEqual(['100000000', '64', '1']);
  expect(group.isOutOfMemory()).toBe(false);
  writeFileSync(path.join(path.dirname(entry), 'memory.events'), 'oom 1\noom_kill 1\noom_group_kill 1\n');
  expect(group.isOutOfMemory()).toBe(true);
});
