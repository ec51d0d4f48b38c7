import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AgentJetError, ConfigError, isBundledModel, parseJsonObject } from '@agentjet/core';
import { findCheckpoint } from './find-checkpoint.js';
import { resolveModelDir, type ModelDirOptions } from './model-dir.js';
import { openWholeModel, type WholeModel } from './open-whole-model.js';
import { readTemplate } from './template-defaults.js';
import { readTrainedKwargs } from './trained-kwargs.js';
import { refuseOpenHost, type ServedModel, type ServeModelOptions } from './serve-tuned-model.js';

/**
 * Serves a trained model with vLLM, which is a separate program. This file starts vLLM on the model's folder, waits
 * until it is ready, and stops it.
 */

export type VllmOptions = ServeModelOptions & {
  /** The path of the program. Default: AJET_VLLM, or `vllm` from PATH. */
  readonly command?: string;
};

/** @throws ConfigError `no_vllm`, `unsupported`, `needs_key`; AgentJetError `cannot_listen` if vLLM ends before it answers; what `exportTunedModel` throws */
export async function serveWithVllm(dir: string, options: VllmOptions = {}): Promise<ServedModel> {
  const {
    host = '127.0.0.1',
    apiKey = randomBytes(24).toString('base64url'),
    onNotice = () => undefined,
    signal,
  } = options;
  refuseOpenHost(host, apiKey);
  if (options.maxTokens !== undefined)
    throw new ConfigError(
      'unsupported',
      'vLLM has no limit for answers whose request names none. Leave out --max-tokens.',
    );
  if (options.tools !== undefined || options.toolCalls !== undefined)
    throw new ConfigError(
      'unsupported',
      'vLLM shows tools and reads calls as the chat template in the folder defines. Leave out --tools and --tool-calls; a run with model.tools=system writes its template into its checkpoints.',
    );
  if (options.memoryCheck !== undefined)
    throw new ConfigError('unsupported', 'vLLM checks the memory itself. Leave out --memory-check.');
  if (options.frozenWeights !== undefined)
    throw new ConfigError(
      'unsupported',
      'vLLM loads the weights as the folder has them. Leave out --frozen-weights, which is for the embedded engine.',
    );
  if (options.conversations !== undefined)
    throw new ConfigError(
      'unsupported',
      'vLLM answers its clients itself, so their conversations cannot be kept. Leave out --conversations, which is for the embedded engine.',
    );
  const command = findVllm(options.command);
  const name = options.name ?? path.basename(path.resolve(dir));
  const port = options.port === 0 ? await findFreePort(host) : (options.port ?? 8000);
  const folder = await openFolder(dir, { onNotice, signal });
  const args = ['serve', folder.dir, '--host', host, '--port', String(port), '--served-model-name', name];
  if (options.maxModelLen !== undefined) args.push('--max-model-len', String(options.maxModelLen));
  const { chatTemplateKwargs: kwargs = (await readTrainedKwargs(folder.dir)).chatTemplateKwargs } = options;
  if (Object.keys(kwargs).length > 0) args.push('--default-chat-template-kwargs', JSON.stringify(kwargs));
  if (options.seed !== undefined) args.push('--seed', String(options.seed));
  args.push(...(await toolArguments(folder.dir)));
  onNotice(`Starting vLLM, which may take minutes: ${command} ${args.join(' ')}`);
  const child = spawn(command, args, {
    // Pass the key in the environment, because every user of the machine can read the arguments of a process.
    env: { ...process.env, ...(apiKey !== null && { VLLM_API_KEY: apiKey }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collectOutput(child, onNotice);
  const ended = awaitEnd(child);
  const close = async (): Promise<void> => {
    await endProcess(child, ended);
    await folder.close();
  };
  try {
    const baseUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    await untilHealthy(`${baseUrl}/health`, { ended, output, signal });
    return { baseUrl: `${baseUrl}/v1`, apiKey, model: name, close, ended: ended.then((how) => `vLLM ${how}.`) };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Returns the folder that vLLM opens: the checkpoint itself, or a copy in which an adapter is merged into its model.
 */
async function openFolder(dir: string, options: Pick<ModelDirOptions, 'onNotice' | 'signal'>): Promise<WholeModel> {
  const openBase = (model: string): Promise<string> => resolveModelDir(model, options);
  const found = isBundledModel(dir) ? dir : await findCheckpoint(dir, options.onNotice);
  return openWholeModel(await resolveModelDir(found, options), { ...options, openBase });
}

function findVllm(given = process.env['AJET_VLLM']): string {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter(Boolean);
  const candidates = given === undefined ? folders.map((folder) => path.join(folder, 'vllm')) : [given];
  const found = candidates.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new ConfigError(
    'no_vllm',
    given === undefined
      ? 'vLLM is not installed: no program "vllm" is in PATH. Install it on a machine with a GPU (pip install vllm), or set AJET_VLLM to the program; without --engine vllm the model is served on this CPU.'
      : `There is no program ${given}. AJET_VLLM must be the path of vllm.`,
  );
}

/** vLLM's parsers of tool calls, for the template families of `@agentjet/tokenizer`. */
const toolParsers: Readonly<Record<string, string>> = {
  qwen2: 'hermes',
  qwen3: 'hermes',
  llama: 'llama3_json',
  mistral: 'mistral',
};

/**
 * Returns the arguments for tool calls. They depend on the chat template, because a run may have replaced its model's
 * template.
 */
async function toolArguments(dir: string): Promise<readonly string[]> {
  const config = parseJsonObject(await readFile(path.join(dir, 'config.json'), 'utf8'));
  const parser = parserOf(await readTemplate(dir)) ?? toolParsers[String(config?.['model_type'])];
  return parser === undefined ? [] : ['--enable-auto-tool-choice', '--tool-call-parser', parser];
}

function parserOf(template: string): string | undefined {
  if (!template.includes('<tool_call>')) return undefined;
  return template.includes('<function=') && template.includes('<parameter=') ? 'qwen3_coder' : 'hermes';
}

async function findFreePort(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Shows the output of vLLM, and keeps its last lines for error messages. */
function collectOutput(child: ChildProcess, onNotice: (message: string) => void): () => string {
  let last = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      last = `${last}${text}`.slice(-2000);
      for (const line of text.split('\n').filter((each) => each.trim() !== '')) onNotice(`vllm: ${line}`);
    });
  return () => last.trim();
}

/** Describes how the process ended. */
function awaitEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, signal) => resolve(`ended with ${code ?? signal}`));
  });
}

type Awaited = {
  readonly ended: Promise<string>;
  readonly output: () => string;
  readonly signal: AbortSignal | undefined;
};

async function untilHealthy(url: string, { ended, output, signal }: Awaited): Promise<void> {
  let end: string | undefined;
  void ended.then((reason) => (end = reason));
  for (;;) {
    signal?.throwIfAborted();
    if (end !== undefined)
      throw new AgentJetError('cannot_listen', `vLLM ${end} before it answered. Its last output:\n${output()}`);
    const isHealthy = await fetch(url, { signal: AbortSignal.timeout(5000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isHealthy && end === undefined) return;
    await delay(250);
  }
}

/** Asks the process to end, and kills it after ten seconds. */
async function endProcess(child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill('SIGTERM');
  const isLate = await Promise.race([ended.then(() => false), delay(10_000, true, { ref: false })]);
  if (isLate) child.kill('SIGKILL');
  await ended;
}
