import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { microModelDir } from '@agentjet/micro';
import { nanoModelDir } from '@agentjet/nano';
import { describeMachine } from '../bench/describe-machine.js';
import { findModel } from './find-model.js';

/** Finds the origin of a result: version, commit, machine, libraries and model. */

const root = path.resolve(import.meta.dirname, '../..');

const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

type Manifest = { readonly version: string };

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')) as Manifest;
}

export function currentVersion(): string {
  return readManifest('.').version;
}

/** Files that `npm run releases` itself writes, because cells are recorded one after another. */
const ownFiles = [':!test/releases/results', ':!test/releases/RELEASES.md'];

/** Returns the commit, and whether the working tree equals it except for kept results. */
export function readCommit(): { readonly commit: string; readonly clean: boolean } {
  return {
    commit: git('rev-parse', '--short=12', 'HEAD'),
    clean: git('status', '--porcelain', '--', '.', ...ownFiles) === '',
  };
}

export const describeMachineWithGpu = (): Readonly<Record<string, unknown>> => ({
  ...describeMachine(),
  ...describeGpu(),
});

/** Returns the GPU of this machine, or no key if there is none. */
function describeGpu(): { readonly gpu?: string } {
  const { status, stdout } = spawnSync('nvidia-smi', ['--query-gpu=name', '--format=csv,noheader'], {
    encoding: 'utf8',
  });
  const [gpu = ''] = status === 0 ? stdout.trim().split('\n') : [];
  return gpu === '' ? {} : { gpu };
}

export function libraryVersions(): Readonly<Record<string, string>> {
  const names = ['onnxruntime-node', '@huggingface/tokenizers', 'langchain', '@langchain/core', 'openai', 'ai'];
  return Object.fromEntries(
    names.flatMap((name) => {
      try {
        return [[name, readManifest(path.join('node_modules', name)).version] as const];
      } catch {
        return []; // this package is not installed
      }
    }),
  );
}

const packaged = new Map([
  ['nano', nanoModelDir],
  ['micro', microModelDir],
]);

/**
 * Returns the hash of a model's weights. The model is a name that `model.path` takes and that is on this machine, a
 * folder, or a GGUF file. Throws Error if it has no weights.
 */
export function hashModel(model: string): string {
  const dir = packaged.get(model) ?? (existsSync(model) ? model : (findModel(model) ?? model));
  const file = dir.endsWith('.gguf') ? dir : path.join(dir, 'model.safetensors');
  if (!existsSync(file)) throw new Error(`${file} is not there: ${model} is not a folder with a model.`);
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
