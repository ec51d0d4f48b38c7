import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { runAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let server: Server;
let baseUrl: string;
let modelDir: string;
const seen: { readonly authorization: string | undefined; readonly body: Record<string, unknown> }[] = [];

/** An OpenAI-compatible model that repeats the question in capitals. */
beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const body = JSON.parse(text) as { messages: readonly { content: string }[] };
      seen.push({ authorization: request.headers.authorization, body });
      const content = body.messages.at(-1)?.content.toUpperCase();
      response.end(
        JSON.stringify({
          choices: [{ message: { content }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 4, completion_tokens: 2 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});
afterAll(() => server.close());

const debug = (...overrides: string[]): string[] => ['--conf', 'job.yaml', '--backbone=debug', ...overrides];
const endpoint = (): string[] => [`debug.base_url=${baseUrl}`, 'debug.api_key=sk-test', 'debug.model=shouter'];

it('runs the first tasks against an endpoint, prints their timelines, and writes nothing', async () => {
  const folder = createJobFolder('no-model-needed');
  const { code, stdout } = await runAjet(folder, debug(...endpoint()));
  expect(code).toBe(0);
  expect(stdout).toMatch(/episode train0-r0, task train0/);
  expect(stdout).toMatch(/speaker \| user +Say 0/);
  expect(stdout).toMatch(/speaker > assistant +SAY 0/);
  expect(stdout).toMatch(/reward 0\.375 {2}success yes/);
  expect(stdout.match(/--- episode/g)).toHaveLength(2);
  expect(existsSync(path.join(folder, 'saved_experiments'))).toBe(false);
  expect(seen[0]).toMatchObject({
    authorization: 'Bearer sk-test',
    body: { model: 'shouter', seed: 12345, max_tokens: 8, temperature: 1 },
  });
});

it('an evaluation of an endpoint names the endpoint, not model.path', async () => {
  const folder = createJobFolder('no-model-needed');
  const { code, stdout } = await runAjet(folder, ['eval', ...debug(...endpoint())]);
  expect(code).toBe(0);
  expect(stdout).toContain(`evaluation of shouter at ${new URL(baseUrl).host}: success 1.000`);
});

it('an error in an edited line is reported with that line, without being asked', async () => {
  const folder = createJobFolder('no-model-needed');
  const file = path.join(folder, 'agent.ts');
  const source = readFileSync(file, 'utf8').replace(
    '  return { reward: letters',
    "  throw new Error('no reward yet');\n  return { reward: letters",
  );
  const line = source.split('\n').findIndex((text) => text.includes('throw new Error')) + 1;
  writeFileSync(file, source);
  const { code, stdout, stderr } = await runAjet(folder, debug(...endpoint()));
  expect(code).toBe(1);
  expect(stdout).toContain('failed (workflow_failed): The workflow threw Error: no reward yet');
  expect(stdout).toMatch(new RegExp(`at .*sayLetters.*agent\\.ts:${line}:\\d+`));
  expect(stderr).toMatch(/error: 2 of 2 episodes failed/);
});

it('the onnx engine without training; the same seed says the same again', async () => {
  const folder = createJobFolder(modelDir);
  const args = debug('debug.debug_first_n_tasks=1');
  const [first, second] = [await runAjet(folder, args), await runAjet(folder, args)];
  const answerOf = (stdout: string): string | undefined => /speaker > assistant.*/.exec(stdout)?.[0];
  expect(first.code).toBe(0);
  expect(answerOf(first.stdout)).toBeDefined();
  expect(answerOf(second.stdout)).toBe(answerOf(first.stdout));
});

it('says so when the endpoint is not there', async () => {
  const folder = createJobFolder('no-model-needed');
  const { code, stderr } = await runAjet(folder, debug('debug.base_url=http://127.0.0.1:9/v1'));
  expect(code).toBe(1);
  expect(stderr).toMatch(/error: The endpoint debug\.base_url http:\/\/127\.0\.0\.1:9\/v1 cannot be reached/);
});

/** Does what an IDE does: finds the compiled line of line 9 in the source map, breaks there, and maps the stop back. */
const debuggerClient = `
const inspector = require('node:inspector');
const { SourceMap } = require('node:module');
const { writeFileSync } = require('node:fs');
const session = new inspector.Session();
session.connectToMainThread();
setInterval(() => {}, 1000); // keeps this thread; the main one ends it
let map;
session.on('Debugger.scriptParsed', ({ params }) => {
  if (!params.url.includes('agent.ts') || !params.sourceMapURL) return;
  map = new SourceMap(JSON.parse(Buffer.from(params.sourceMapURL.split('base64,')[1], 'base64').toString()));
  for (let line = params.startLine; line <= params.endLine; line++) {
    for (let column = 0; column < 2000; column++) {
      const entry = map.findEntry(line, column);
      if (entry.originalLine !== WANTED - 1 || entry.generatedLine !== line) continue;
      session.post('Debugger.setBreakpoint', { location: { scriptId: params.scriptId, lineNumber: line, columnNumber: entry.generatedColumn } }, () => writeFileSync('armed', ''));
      return;
    }
  }
});
session.on('Debugger.paused', ({ params }) => {
  const { location, functionName, scopeChain } = params.callFrames[0];
  const { originalLine, originalSource } = map.findEntry(location.lineNumber, location.columnNumber);
  writeFileSync('paused.json', JSON.stringify({ functionName, line: originalLine + 1, source: originalSource, scopes: scopeChain.length }));
  setTimeout(() => session.post('Debugger.resume', () => session.disconnect()), 1500);
});
session.post('Debugger.enable', () => require('node:worker_threads').parentPort.postMessage('attached'));
`;

it('a breakpoint in the workflow stops there, for longer than an episode may take', async () => {
  const folder = createJobFolder(
    'no-model-needed',
    { 'client.cjs': '' },
    { rollout: { user_workflow: 'agent.ts->sayLetters', episode_timeout: 1 } },
  );
  const file = path.join(folder, 'agent.ts');
  // The debugger is another thread, so the workflow waits until its breakpoint is set.
  const waits =
    "  while (!process.getBuiltinModule('node:fs').existsSync('armed')) await new Promise((resolve) => setTimeout(resolve, 5));\n";
  const source = readFileSync(file, 'utf8').replace(/(?=^.*const letters)/m, waits);
  writeFileSync(file, source);
  const line = source.split('\n').findIndex((text) => text.includes('const letters')) + 1;
  writeFileSync(path.join(folder, 'client.cjs'), debuggerClient.replace('WANTED', String(line)));
  writeFileSync(
    path.join(folder, 'attach.mjs'),
    `import { isMainThread, Worker } from 'node:worker_threads'; import inspector from 'node:inspector';
     if (isMainThread) {
       inspector.open(0, '127.0.0.1');
       const worker = new Worker(new URL('client.cjs', import.meta.url), { execArgv: [] });
       const alive = setInterval(() => {}, 10);
       await new Promise((resolve) => worker.once('message', resolve));
       clearInterval(alive);
       worker.unref();
     }`,
  );
  const { code, stdout } = await runAjet(folder, debug(...endpoint(), 'debug.debug_first_n_tasks=1'), {
    nodeArgs: ['--import', path.join(folder, 'attach.mjs')],
  });
  const paused = JSON.parse(readFileSync(path.join(folder, 'paused.json'), 'utf8')) as {
    functionName: string;
    line: number;
    source: string;
  };
  expect(paused).toMatchObject({ functionName: 'sayLetters', line });
  expect(paused.source).toMatch(/agent\.ts$/);
  expect(stdout).toMatch(/reward 0\.375/);
  expect(code).toBe(0);
});
