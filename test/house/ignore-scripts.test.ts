import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const scratch = mkdtempSync(path.join(tmpdir(), 'clone ü '));
afterAll(() => rmSync(scratch, { recursive: true }));

function npm(cwd: string, ...args: readonly string[]) {
  const env = { ...process.env, npm_config_ignore_scripts: 'true', npm_config_update_notifier: 'false' };
  const isWindows = process.platform === 'win32';
  return spawnSync(isWindows ? 'npm.cmd' : 'npm', args, { cwd, env, encoding: 'utf8', shell: isWindows });
}

it.each(['start', 'test'])('npm %s in a new clone says what to run if npm ignores scripts', (name) => {
  for (const file of ['package.json', 'package-lock.json', '.ci'])
    cpSync(path.join(root, file), path.join(scratch, file), { recursive: true });
  const { status, stdout, stderr } = npm(scratch, name);
  expect(status).toBe(1);
  expect(stderr).toContain(
    `npm's setting ignore-scripts is on, so nothing is installed or built yet. Run: node .ci/setup.mjs\nThen run again: npm ${name}\n`,
  );
  expect(stdout + stderr).not.toMatch(/ERR_MODULE_NOT_FOUND|Cannot find/);
});

it('a command runs if npm ignores scripts and everything is there', () => {
  const { status, stdout, stderr } = npm(root, 'start', '--', '--help');
  expect(stderr).toContain('After a change, run: node .ci/setup.mjs');
  expect(stdout).toContain('Usage: ajet --conf <file.yaml>');
  expect(status).toBe(0);
});
