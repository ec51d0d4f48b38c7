// Makes a virtual environment with pinned requirements once: <folder>/.venv, from <folder>/requirements.txt.
import './refuse-old-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const python = process.env.PYTHON ?? 'python3';
const minutes = 30;

/** Returns the interpreter of a folder's environment. */
export function pythonOf(folder) {
  const venv = path.join(folder, '.venv');
  return process.platform === 'win32' ? path.join(venv, 'Scripts', 'python.exe') : path.join(venv, 'bin', 'python');
}

const stampOf = (folder) => path.join(folder, '.venv', 'installed.txt');
const wantedOf = (folder) => readFileSync(path.join(folder, 'requirements.txt'), 'utf8');

/** Checks whether the environment exists and has the present requirements. */
export function isInstalled(folder) {
  return existsSync(stampOf(folder)) && readFileSync(stampOf(folder), 'utf8') === wantedOf(folder);
}

/**
 * Makes the environment. Returns the reason if it could not be made, and undefined otherwise. It is safe to run again.
 */
export function makeEnvironment(folder) {
  if (isInstalled(folder)) return undefined;
  if (spawnSync(python, ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status !== 0)
    return `${python} is missing or older than Python 3.10. Install Python 3.10 or newer, or set PYTHON to it.`;
  const venv = path.join(folder, '.venv');
  console.log(`Installing the requirements of ${path.basename(folder)} into ${venv} ...`);
  const run = (command, args) =>
    spawnSync(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: minutes * 60_000 })
      .status === 0;
  if (!existsSync(pythonOf(folder)) && !run(python, ['-m', 'venv', venv]))
    return `${python} could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv.`;
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--quiet', '--retries', '1', '--timeout', '20'];
  if (!run(pythonOf(folder), [...pip, '-r', path.join(folder, 'requirements.txt')]))
    return 'pip could not install them; its message is above.';
  writeFileSync(stampOf(folder), wantedOf(folder));
  return undefined;
}
