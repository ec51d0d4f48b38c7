import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ServedModel } from './serve-tuned-model.js';
import { serveWithVllm } from './serve-with-vllm.js';

let root = '';
let served: ServedModel | undefined;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'vllm-'));
});
afterEach(async () => {
  await served?.close();
  served = undefined;
  rmSync(root, { recursive: true });
});

/** Writes a program that replaces vLLM. */
function writeProgram(code: string): string {
  const file = path.join(root, 'vllm');
  writeFileSync(file, `#!${process.execPath}\n${code}`);
  chmodSync(file, 0o755);
  return file;
}

/** A program that reports that it is healthy from the third request on, and notes how it was started. */
const healthy = (): string => `
const { writeFileSync } = require('node:fs');
const args = process.argv.slice(2);
writeFileSync(${JSON.stringify(path.join(root, 'started.json'))}, JSON.stringify({ args, key: process.env.VLLM_API_KEY }));
let asked = 0;
require('node:http').createServer((request, response) => {
  response.statusCode = ++asked > 2 ? 200 : 503;
  response.end();
}).listen(Number(args[args.indexOf('--port') + 1]), '127.0.0.1');
process.on('SIGTERM', () => { writeFileSync(${JSON.stringify(path.join(root, 'ended'))}, ''); process.exit(0); });`;

describe.skipIf(process.platform === 'win32')('serving with vLLM', () => {
  it('starts it on the model and waits until it answers; the key is not an argument', async () => {
    served = await serveWithVllm('nano', {
      port: 0,
      command: writeProgram(healthy()),
      maxModelLen: 512,
      apiKey: 'mine',
    });
    const { args, key } = JSON.parse(readFileSync(path.join(root, 'started.json'), 'utf8')) as {
      readonly args: readonly string[];
      readonly key: string;
    };
    const { port } = new URL(served.baseUrl);
    const line = `serve ${nanoModelDir} --host 127.0.0.1 --port ${port} --served-model-name nano --max-model-len 512`;
    expect(args.join(' ')).toBe(`${line} --enable-auto-tool-choice --tool-call-parser hermes`);
    expect([key, served.apiKey]).toEqual(['mine', 'mine']);
    expect(served.baseUrl).toBe(`http://127.0.0.1:${port}/v1`);
    await served.close();
    expect(existsSync(path.join(root, 'ended'))).toBe(true);
    expect(await served.ended).toBe('vLLM ended with 0.');
  });

  it.each([
    ['<tool_call>', 'hermes'],
    ['<tool_call><function=f><parameter=a>', 'qwen3_coder'],
    ['{{ messages }}', 'llama3_json'],
  ])('has calls read as the chat template of the folder writes them: %s', async (template, parser) => {
    const dir = path.join(root, 'model');
    mkdirSync(dir);
    writeFileSync(path.join(dir, 'config.json'), JSON.stringify({ model_type: 'llama' }));
    writeFileSync(path.join(dir, 'chat_template.jinja'), template);
    served = await serveWithVllm(dir, { port: 0, command: writeProgram(healthy()) });
    const { args } = JSON.parse(readFileSync(path.join(root, 'started.json'), 'utf8')) as { args: readonly string[] };
    expect(args.at(-1)).toBe(parser);
  });

  it('says what vLLM said if it ends before it answers', async () => {
    const command = writeProgram('console.error("No GPU was found."); process.exit(3);');
    await expect(serveWithVllm('nano', { port: 0, command })).rejects.toThrow(
      'vLLM ended with 3 before it answered. Its last output:\nNo GPU was found.',
    );
  });

  it('stops waiting when it is asked to', async () => {
    const command = writeProgram('setInterval(() => {}, 1000);');
    const controller = new AbortController();
    const serving = serveWithVllm('nano', { port: 0, command, signal: controller.signal });
    controller.abort(new Error('stop'));
    await expect(serving).rejects.toThrow('stop');
  });
});

it('says how to get vLLM if it is not there', async () => {
  await expect(serveWithVllm('nano', { command: path.join(root, 'none') })).rejects.toThrow(
    `There is no program ${path.join(root, 'none')}.`,
  );
});

it('refuses what vLLM cannot do, and an open server without a key', async () => {
  await expect(serveWithVllm('nano', { maxTokens: 5 })).rejects.toThrow('Leave out --max-tokens.');
  await expect(serveWithVllm('nano', { toolCalls: 'lenient' })).rejects.toThrow('Leave out --tools and --tool-calls');
  await expect(serveWithVllm('nano', { memoryCheck: 'warn' })).rejects.toThrow('Leave out --memory-check.');
  await expect(serveWithVllm('nano', { host: '0.0.0.0', apiKey: null })).rejects.toThrow('Leave out --no-key');
});
