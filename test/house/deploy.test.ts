import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { nodeFlags } from '../bench/swarm/server-process.js';
import { findCommand } from './find-command.js';

const unit = path.resolve(import.meta.dirname, '../../deploy/agentjet-swarm.service');
const dir = mkdtempSync(path.join(tmpdir(), 'deploy-'));
afterAll(() => rmSync(dir, { recursive: true }));

const verify = (file: string) => spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

it.skipIf(!hasSystemd)('systemd understands every line of the unit of a server', () => {
  const here = readFileSync(unit, 'utf8').replace('/srv/agentjet/node_modules/.bin/ajet', process.execPath);
  const copy = path.join(dir, 'agentjet-swarm.service');
  writeFileSync(copy, here);
  expect(verify(copy)).toMatchObject({ status: 0, stderr: '' });
  const wrong = path.join(dir, 'wrong.service');
  writeFileSync(wrong, here.replace('RestartSec=', 'RestartSeconds='));
  expect(verify(wrong).stderr).toContain('RestartSeconds');
});

it('the unit starts a server with flags that it has', () => {
  const [, started = ''] = /^ExecStart=(.*)$/m.exec(readFileSync(unit, 'utf8')) ?? [];
  const [, names = '', given = ''] = /\bajet ((?:[a-z]+ )+)(.*)$/.exec(started) ?? [];
  const command = findCommand(names.trim().split(' '));
  expect(given).toContain('--conf');
  // The unit must not use `npx`, which would end before the server has finished its work.
  expect(started).toMatch(/^\/srv\/agentjet\/node_modules\/\.bin\/ajet /);
  expect(readFileSync(unit, 'utf8')).toMatch(`Environment=NODE_OPTIONS=${nodeFlags.join(' ')}\n`);
  for (const [flag] of given.matchAll(/--[\w-]+/g)) expect(command?.options.map(({ long }) => long)).toContain(flag);
});
