import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expectContinuation } from '@agentjet/adapter-kit';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { openScriptedEpisode, type ScriptedEpisode, type ScriptedReply, toolCallText } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCuttingProxy } from './cutting-proxy.js';

/** `npm run setup:clients` makes it. */
const python = path.join(
  import.meta.dirname,
  'python/.venv',
  process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python',
);
const isInstalled = existsSync(path.join(import.meta.dirname, 'python/.venv/installed.txt'));
if (!isInstalled)
  console.log('The Python clients are not installed, so their tests are skipped: npm run setup:clients');

const call = (args: string): string => toolCallText('add', args);
/** Replies that clients often spell in another way when they send them back. One question gets all of them. */
const replies = [
  call('{"b": 2,  "a":1.0}'),
  `<think>\nhard  thought\n</think>\n\n ${call('{"a": 1, "note": "\\u00e9 \\/ \\n"}')}`,
  `Two at once. 🧮 ${call('{"a": 1}')}${call('{"a": 1, "zzz": [1,  {"y": null}]}')}`,
  call('{}'),
  ' It is\n three. 🙂 ',
];

/** All tests share one Python, because its imports take longer than the tests. */
function startClients() {
  const child = spawn(python, [path.join(import.meta.dirname, 'python/clients.py')], {
    env: { ...process.env, LANGSMITH_TRACING: 'false' },
  });
  let complaints = '';
  child.stderr.on('data', (chunk) => (complaints += String(chunk)));
  return {
    process: child,
    answers: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
    complaints: () => complaints,
  };
}

let server: EndpointServer;
let clients: ReturnType<typeof startClients>;

beforeAll(async () => {
  server = await startEndpointServer();
  if (isInstalled) clients = startClients();
});

afterAll(async () => {
  if (isInstalled) clients.process.stdin.end();
  await server.close();
});

type Access = { readonly baseUrl: string; readonly apiKey: string };

function open(
  said: readonly ScriptedReply[],
  contextLength?: number,
): { readonly episode: ScriptedEpisode; readonly access: Access } {
  const episode = openScriptedEpisode({
    replies: said,
    endpointHost: server,
    ...(contextLength !== undefined && { contextLength }),
  });
  return { episode, access: episode.tuner.asOpenAIEndpoint({ agentName: 'agent' }) };
}

type Outcome = Readonly<Record<string, unknown>>;

async function runClient(client: string, task: string, { baseUrl, apiKey }: Access): Promise<Outcome> {
  clients.process.stdin.write(`${JSON.stringify({ client, task, url: baseUrl, key: apiKey })}\n`);
  const line = await clients.answers.next();
  if (line.done === true) throw new Error(`clients.py has ended: ${clients.complaints()}`);
  const outcome = JSON.parse(line.value) as Outcome;
  if (typeof outcome['failed'] === 'string') throw new Error(`${client} ${task}: ${outcome['failed']}`);
  return outcome;
}

/** LangChain wraps openai's types in its own types. */
const badRequest = expect.stringMatching(/BadRequestError|InvalidRequestError/);

describe.skipIf(!isInstalled).each(['openai', 'responses', 'anthropic', 'langchain'])(
  'the Python client %s',
  (client) => {
    it.each(['whole', 'streamed'])(
      'asks and calls tools, and every prompt continues the model’s own tokens (%s)',
      async (task) => {
        const { episode, access } = open(
          task === 'whole' ? replies : replies.map((text) => ({ text, tokenDelayMs: 0 })),
        );
        const { texts, calls } = await runClient(client, task, access);
        expect((texts as readonly string[]).at(-1)?.trim()).toBe('It is\n three. 🙂');
        expect((calls as readonly string[]).map((text) => JSON.parse(text) as unknown)).toEqual([
          { b: 2, a: 1 },
          { a: 1, note: 'é / \n' },
          { a: 1 },
          { a: 1, zzz: [1, { y: null }] },
          {},
        ]);
        for (let at = 1; at < replies.length; at++) expectContinuation(episode, at - 1, at);
        const { samples, stats } = episode.finish();
        expect([samples.length, stats.trainedTokens, stats.forks, stats.foreignMessages]).toEqual([
          1,
          stats.generatedTokens,
          {},
          {},
        ]);
      },
    );

    it('raises its own types of errors', async () => {
      const { episode, access } = open(['fine'], 600);
      const {
        too_long: tooLong,
        too_long_streamed: streamed,
        wrong_key: wrongKey,
        out_of_range: outOfRange,
      } = await runClient(client, 'errors', access);
      expect(tooLong).toMatchObject({ type: badRequest, text: expect.stringContaining('600') });
      expect(streamed).toMatchObject({ type: badRequest });
      expect(wrongKey).toMatchObject({ type: expect.stringMatching(/AuthenticationError/), status: 401 });
      expect(outOfRange).toMatchObject({ type: badRequest, status: 400, text: expect.stringContaining('temperature') });
      expect(episode.engine.requests).toHaveLength(0);
    });

    it('leaves a stream, and gives up waiting, without a sample', async () => {
      const { episode, access } = open([
        { text: 'a long answer that nobody reads to its end '.repeat(20), tokenDelayMs: 5 },
      ]);
      await runClient(client, 'leave', access);
      expect(await runClient(client, 'late', access)).toMatchObject({ type: expect.stringMatching(/TimeoutError/) });
      await expect.poll(() => episode.engine.requests.map(({ outcome }) => outcome)).toEqual(['aborted', 'aborted']);
      expect(episode.finish().samples).toHaveLength(0);
    });

    it('retries by itself, which makes no second sample', async () => {
      const { episode, access } = open(['one', 'two']);
      const proxy = await openCuttingProxy(access.baseUrl);
      expect(await runClient(client, 'retry', { ...access, baseUrl: proxy.baseUrl })).toEqual({ text: 'one' });
      proxy.close();
      expect(proxy.numCut()).toBe(1);
      expect(episode.finish()).toMatchObject({ samples: { length: 1 }, calls: { answered: 1, repeated: 1 } });
    });
  },
);
