// Makes test/endpoint/python/.venv with the pinned clients: `npm run setup:clients`. Safe to run again; without it their tests are skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const dir = import.meta.dirname;
const venv = path.join(dir, '.venv');
const venvPython =
  process.platform === 'win32' ? path.join(venv, 'Scripts', 'python.exe') : path.join(venv, 'bin', 'python');
const requirements = path.join(dir, 'requirements.txt');
const stamp = path.join(venv, 'installed.txt');
const python = process.env.PYTHON ?? 'python3';

function run(command, args) {
  return (
    spawnSync(command, args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'], timeout: 5 * 60_000 }).status === 0
  );
}

function stop(message) {
  console.log(`${message} The tests with Python clients are skipped.`);
  process.exit(1);
}

const wanted = readFileSync(requirements, 'utf8');
if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) process.exit();
if (spawnSync(python, ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status !== 0)
  stop(`${python} is not here, or older than Python 3.10. Install one, or set PYTHON to it.`);
console.log(`Installing Python clients into ${venv} ...`);
if (!existsSync(venvPython) && !run(python, ['-m', 'venv', venv]))
  stop(`${python} could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv.`);
if (
  !run(venvPython, [
    '-m',
    'pip',
    'install',
    '--disable-pip-version-check',
    '--quiet',
    '--retries',
    '1',
    '--timeout',
    '20',
    '-r',
    requirements,
  ])
)
  stop('pip could not install them.');
writeFileSync(stamp, wanted);
