// Makes the virtual environment of a Python worker from its pinned requirements. It is safe to run again.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`AgentJet needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

const cpuIndex = 'https://download.pytorch.org/whl/cpu';
const oldest = [3, 10];

/** Returns the first interpreter that is new enough, with its version. */
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

function stop(message) {
  console.error(message);
  process.exit(1);
}

function hasNvidiaGpu() {
  return existsSync('/proc/driver/nvidia/version') || spawnSync('nvidia-smi', ['-L']).status === 0;
}

/**
 * Makes `dir`/.venv with `dir`/requirements.txt, which pins PyTorch. If that fails, it ends the process with a message.
 * `backbone` is the backbone's name. `imports` lists modules, torch among them, that must be importable afterwards and
 * whose versions are printed.
 */
export function makeEnvironment({ backbone, dir, imports }) {
  const venv = path.join(dir, '.venv');
  const venvPython =
    process.platform === 'win32' ? path.join(venv, 'Scripts', 'python.exe') : path.join(venv, 'bin', 'python');
  const requirements = path.join(dir, 'requirements.txt');
  const torchPin = readFileSync(requirements, 'utf8').match(/^torch==\S+$/m)[0];
  const run = (command, args) => spawnSync(command, args, { stdio: 'inherit', cwd: dir }).status === 0;
  const installs = (...args) => run(venvPython, ['-m', 'pip', 'install', '--disable-pip-version-check', ...args]);

  const python = findPython();
  if (python === undefined)
    stop(
      `The ${backbone} backbone needs Python ${oldest.join('.')} or later, and none was found. Install it, or set PYTHON to it, and run this again.`,
    );
  if (!existsSync(venvPython)) {
    console.log(`Making ${venv} with ${python.name} (Python ${python.version}).`);
    if (!run(python.name, ['-m', 'venv', venv]))
      stop(`${python.name} could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv.`);
  }
  if (process.platform === 'linux' && !hasNvidiaGpu()) {
    console.log('No NVIDIA GPU here: trying the CPU build of PyTorch first (200 MB instead of 3 GB).');
    if (!installs('--index-url', cpuIndex, '--retries', '0', torchPin))
      console.log('The index of CPU builds cannot be reached. Taking the build from PyPI, which runs on CPUs too.');
  }
  if (!installs('-r', requirements)) stop(`pip could not install ${requirements}. Its message is above.`);
  const versions = imports.map((name) => `${name} {${name}.__version__}`).join(', ');
  const check = `import ${imports.join(', ')}; print(f"${versions}, GPUs: {torch.cuda.device_count()}")`;
  if (!run(venvPython, ['-c', check]))
    stop(
      `The virtual environment exists, but ${imports.join(', ')} cannot be imported. The message is above. Remove ${venv} and run this again.`,
    );
  console.log(`Done. Try: ajet --conf your.yaml --backbone=${backbone}`);
}
