// Makes trainer/torch/.venv with the pinned requirements: `npm run setup:torch`. Safe to run again.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const dir = import.meta.dirname;
const venv = path.join(dir, '.venv');
const venvPython =
  process.platform === 'win32' ? path.join(venv, 'Scripts', 'python.exe') : path.join(venv, 'bin', 'python');
const cpuIndex = 'https://download.pytorch.org/whl/cpu';
const oldest = [3, 10];
const requirements = path.join(dir, 'requirements.txt');
const torchPin = readFileSync(requirements, 'utf8').match(/^torch==\S+$/m)[0];

/** The first interpreter that is new enough, with its version. */
function findPython() {
  const names = [
    process.env.PYTHON,
    'python3.12',
    'python3.11',
    'python3.13',
    'python3.10',
    'python3',
    'python',
  ].filter(Boolean);
  for (const name of names) {
    const found = spawnSync(name, ['-c', 'import sys; print(*sys.version_info[:2])'], { encoding: 'utf8' });
    const [major, minor] = (found.stdout ?? '').trim().split(' ').map(Number);
    if (found.status === 0 && (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])))
      return { name, version: `${major}.${minor}` };
  }
  return undefined;
}

function run(command, args) {
  const done = spawnSync(command, args, { stdio: 'inherit', cwd: dir });
  return done.status === 0;
}

function stop(message) {
  console.error(message);
  process.exit(1);
}

function installs(...args) {
  return run(venvPython, ['-m', 'pip', 'install', '--disable-pip-version-check', ...args]);
}

function hasNvidiaGpu() {
  return existsSync('/proc/driver/nvidia/version') || spawnSync('nvidia-smi', ['-L']).status === 0;
}

const python = findPython();
if (python === undefined)
  stop(
    `The torch backbone needs Python ${oldest.join('.')} or later; none was found. Install one, or set PYTHON to it, and run this again.`,
  );
if (!existsSync(venvPython)) {
  console.log(`Making ${venv} with ${python.name} (Python ${python.version}).`);
  if (!run(python.name, ['-m', 'venv', venv]))
    stop(`${python.name} could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv.`);
}
if (process.platform === 'linux' && !hasNvidiaGpu()) {
  console.log('No NVIDIA GPU here: trying the CPU build of PyTorch first (200 MB instead of 3 GB).');
  if (!installs('--index-url', cpuIndex, '--retries', '0', torchPin))
    console.log('Its index cannot be reached; taking the build from PyPI, which runs on CPUs too.');
}
if (!installs('-r', requirements)) stop('pip could not install trainer/torch/requirements.txt; see its message above.');
if (
  !run(venvPython, [
    '-c',
    'import torch, transformers; print(f"torch {torch.__version__}, transformers {transformers.__version__}, GPUs: {torch.cuda.device_count()}")',
  ])
) {
  stop(
    'The virtual environment is there but PyTorch cannot be imported; see the message above. Remove trainer/torch/.venv and run this again.',
  );
}
console.log('Done. Try: ajet --conf your.yaml --backbone=torch');
