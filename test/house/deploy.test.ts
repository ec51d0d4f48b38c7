import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createProgram } from '@agentjet/cli';
import { afterAll, expect, it } from 'vitest';

const unit = path.resolve(import.meta.dirname, '../../deploy/agentjet-swarm.service');
const dir = mkdtempSync(path.join(tmpdir(), 'deploy-'));
afterAll(() => rmSync(dir, { recursive: true }));

const verify = (file: string) => spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

it.skipIf(!hasSystemd)('systemd understands every line of the unit of a server', () => {
  const copy = path.join(dir, 'agentjet-swarm.service');
  copyFileSync(unit, copy);
  expect(verify(copy)).toMatchObject({ status: 0, stderr: '' });
  const wrong = path.join(dir, 'wrong.service');
  writeFileSync(wrong, readFileSync(unit, 'utf8').replace('RestartSec=', 'RestartSeconds='));
  expect(verify(wrong).stderr).toContain('RestartSeconds');
});

it('the unit starts a server with flags that it has', () => {
  const [, started = ''] = /^ExecStart=(.*)$/m.exec(readFileSync(unit, 'utf8')) ?? [];
  const [, names = '', given = ''] = /\bajet ((?:[a-z]+ )+)(.*)$/.exec(started) ?? [];
  const command = names
    .trim()
    .split(' ')
    .reduce<ReturnType<typeof createProgram> | undefined>(
      (found, name) => found?.commands.find((each) => each.name() === name),
      createProgram(() => {}),
    );
  expect(given).toContain('--conf');
  for (const [flag] of given.matchAll(/--[\w-]+/g)) expect(command?.options.map(({ long }) => long)).toContain(flag);
});
