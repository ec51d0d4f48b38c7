import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../../../.ci/workspaces.mjs';
import type { Program } from './programs.js';

const minutes = 10;

/**
 * Installs a program from the npm registry once, and returns the folder of its command, or why it could not be
 * installed.
 */
export function installProgram({ package: name, version, command }: Program): { bin: string } | { problem: string } {
  const dir = path.join(root, 'node_modules/.cache/programs', `${command}-${version}`);
  const bin = path.join(dir, 'node_modules/.bin');
  if (existsSync(path.join(bin, command))) return { bin };
  mkdirSync(dir, { recursive: true });
  // The install scripts of these packages install the binary for this platform.
  const manifest = { private: true, dependencies: { [name]: version }, allowScripts: { [name]: true } };
  writeFileSync(path.join(dir, 'package.json'), JSON.stringify(manifest));
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status, stderr } = spawnSync(npm, ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: dir,
    encoding: 'utf8',
    timeout: minutes * 60_000,
  });
  if (status === 0 && existsSync(path.join(bin, command))) return { bin };
  return { problem: `npm could not install ${name}@${version}: ${stderr.trim().slice(-300)}` };
}
