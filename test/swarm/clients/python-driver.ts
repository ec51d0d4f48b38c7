import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Arguments, ClientDriver, DriverOptions, Outcome, Verb } from './client-driver.js';

export const python = process.platform === 'win32' ? 'python' : 'python3';

const probe = spawnSync(python, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']);
/** Returns why the Python client cannot be tried here, or undefined if it can. */
export const noPython: string | undefined =
  probe.status === 0 ? undefined : `${python} of version 3.9 or newer is not installed`;

export const pythonPath = path.join(import.meta.dirname, '../../../clients/python');

/** Starts the Python client in a process. It reads a line of JSON for each verb, and writes a line. */
export function createPythonDriver(options: DriverOptions): ClientDriver {
  const child = spawn(python, [path.join(import.meta.dirname, 'driver.py'), JSON.stringify(options)], {
    env: { ...process.env, PYTHONPATH: pythonPath, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ask = async (verb: Verb, args: Arguments): Promise<Outcome> => {
    const line = JSON.stringify({ verb, args }, (_key, value: unknown) => (Number.isNaN(value) ? '<NaN>' : value));
    child.stdin.write(`${line}\n`);
    const { value } = await lines.next();
    if (typeof value !== 'string') throw new Error('The Python client ended.');
    return JSON.parse(value) as Outcome;
  };
  return {
    name: 'Python',
    ask,
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
