import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Runs llama.cpp on this machine's CPU. The npm package node-llama-cpp contains a compiled version. */

const version = '3.21.1';
const folder = path.join(import.meta.dirname, '.venv', 'llama');

/** The package with the binary for each platform. */
const platforms: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
  'win32-x64': 'win-x64',
};

/** Returns the reason why it could not be installed, or undefined if it is installed. */
export function installLlamaCpp(): string | undefined {
  if (existsSync(path.join(folder, 'node_modules', 'node-llama-cpp', version))) return undefined;
  const platform = platforms[`${process.platform}-${process.arch}`];
  if (platform === undefined) return `node-llama-cpp has no binary for ${process.platform}-${process.arch}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
  // Without --omit=optional, npm would also install the CUDA and Vulkan builds, which have 700 MB.
  const packages = [`node-llama-cpp@${version}`, `@node-llama-cpp/${platform}@${version}`];
  const asked = [
    'install',
    '--ignore-scripts',
    '--omit=optional',
    '--no-audit',
    '--no-fund',
    '--save-exact',
    ...packages,
  ];
  const { status, stderr } = spawnSync('npm', asked, {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) return `npm could not install node-llama-cpp ${version}: ${stderr.trim().split('\n').at(-1) ?? ''}`;
  writeFileSync(path.join(folder, 'node_modules', 'node-llama-cpp', version), '');
  return undefined;
}

export type LlamaCase = {
  readonly text: string;
  readonly promptIds: readonly number[];
  readonly answerIds: readonly number[];
};

/** What llama.cpp says about one token of an answer. */
export type LlamaPlace = {
  /** The token with the highest probability, and its log-probability. */
  readonly best: number;
  readonly logprob: number;
  /** The log-probability of the answer's token. Null if its probability is 0. */
  readonly ours: number | null;
};

export type LlamaAnswer = {
  /** The token ids of the text. Special tokens in the text become single ids. */
  readonly ids: readonly number[];
  readonly places: readonly LlamaPlace[];
};

/** Lets llama.cpp read each prompt and its answer. Throws if it cannot load the file. */
export function askLlamaCpp(model: string, cases: readonly LlamaCase[]): readonly LlamaAnswer[] {
  const scratch = mkdtempSync(path.join(tmpdir(), 'ask-llama-'));
  try {
    const [request, answer] = [path.join(scratch, 'request.json'), path.join(scratch, 'answer.json')];
    writeFileSync(request, JSON.stringify({ model, cases }));
    const script = path.join(import.meta.dirname, 'ask-llama.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, request, answer], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`llama.cpp did not read ${model}: ${stderr.trim().slice(-1000)}`);
    return (JSON.parse(readFileSync(answer, 'utf8')) as { readonly answers: readonly LlamaAnswer[] }).answers;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
