import { mkdtempSync, readFileSync, appendFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outage } from '@agentjet/core';
import { expect, it } from 'vitest';
import { openModelClient, type ModelClientOptions, type ModelQuestion } from './model-client.js';
import { ModelRefusal } from './request-sender.js';
import { says, scriptedHost, type ScriptedAnswer } from './testing/scripted-model.js';

const options: ModelClientOptions = {
  baseUrl: 'https://judge.example/v1',
  model: 'judge-1',
  keys: ['KEY'],
  backupKeys: [],
  limits: { maxConcurrent: 4, requestsPerMinute: null, tokensPerMinute: null, timeoutSeconds: 60, maxRetries: 4 },
  cacheFile: null,
};
const question: ModelQuestion = { messages: [{ role: 'user', content: 'Good?' }], temperature: 0, maxTokens: 10 };
const { signal } = new AbortController();
const status = (code: number, body = '', headers = {}): ScriptedAnswer => ({ status: code, body, headers });

/** Asks once. The server gives the answers in this order and repeats the last one. */
async function ask(
  answers: readonly ScriptedAnswer[],
  changes: Partial<ModelClientOptions> = {},
  environment?: Record<string, string>,
) {
  const host = scriptedHost((_, at) => answers[Math.min(at, answers.length - 1)] ?? 'broken', environment);
  const client = await openModelClient({ ...options, ...changes }, host);
  const answer = await client.ask(question, signal).catch((error: unknown) => error);
  return { answer, host, keys: host.requests.map(({ key }) => key), client };
}

it('sends one chat completion', async () => {
  const { answer, host } = await ask([says('yes')]);
  expect(answer).toEqual({ text: 'yes', finishReason: 'stop', promptTokens: 5, completionTokens: 2 });
  expect(host.requests).toEqual([
    {
      url: 'https://judge.example/v1/chat/completions',
      key: 'secret-1',
      body: { model: 'judge-1', messages: question.messages, temperature: 0, max_tokens: 10 },
    },
  ]);
});

it.each([
  ['a broken connection', 'broken'],
  ['an error of the server', status(503, 'overloaded')],
  ['an answer that is not JSON', status(200, '<html>')],
  ['an answer without choices', status(200, '{"choices": []}')],
  ['a rate limit', status(429, 'slow down', { 'retry-after': '7' })],
] as const)('asks again after %s', async (_, answer) => {
  const asked = await ask([answer, answer, says('yes')]);
  expect(asked.answer).toMatchObject({ text: 'yes' });
  expect(asked.host.requests).toHaveLength(3);
});

it('is an outage if every key has a rate limit that lasts for hours, and works again after it', async () => {
  const { answer, client, host } = await ask([status(429, '', { 'retry-after': '7200' }), says('yes')]);
  expect(answer).toBeInstanceOf(Outage);
  expect(String(answer)).toMatch(/KEY at judge\.example .* lasts 120 more minutes/);
  await expect(client.ask(question, signal)).rejects.toThrow(Outage);
  expect(host.requests).toHaveLength(1);
  await host.sleep(7_200_000, signal);
  expect(await client.ask(question, signal)).toMatchObject({ text: 'yes' });
});

it('rests one key as long as its own rate limit says, and uses the others', async () => {
  const limited = (key: string): ScriptedAnswer =>
    key === 'a' ? status(429, '', { 'retry-after': '7200' }) : says(`from ${key}`);
  const host = scriptedHost(({ key }) => limited(key), { KEY: 'a|b', KEY_BACKUP: 'c' });
  const client = await openModelClient(options, host);
  for (let seed = 0; seed < 4; seed++)
    expect(await client.ask({ ...question, seed }, signal)).toMatchObject({ text: 'from b' });
  expect(host.requests.map(({ key }) => key)).toEqual(['a', 'b', 'b', 'b', 'b']);
});

it('waits as long as a rate limit says', async () => {
  const { host } = await ask([status(429, '', { 'retry-after': '7' }), says('yes')]);
  expect(host.now()).toBeGreaterThanOrEqual(7000);
});

it.each(['broken', status(500), status(429), status(200, '{}')] as const)(
  'is an outage if it stays %j, named by the host',
  async (answer) => {
    const { answer: error, host } = await ask([answer]);
    expect(error).toBeInstanceOf(Outage);
    expect(error).toMatchObject({ host: 'judge.example' });
    expect(host.requests).toHaveLength(5);
  },
);

it('is a refusal, sent once, if the request itself is wrong', async () => {
  const { answer, host } = await ask([status(404, 'no model judge-1')]);
  expect(answer).toBeInstanceOf(ModelRefusal);
  expect(String(answer)).toContain('no model judge-1');
  expect(host.requests).toHaveLength(1);
});

it('shares the load between keys also if one question follows the other', async () => {
  const host = scriptedHost(() => says('yes'), { KEY: 'secret-a|secret-b|secret-c' });
  const client = await openModelClient(options, host);
  for (let seed = 0; seed < 7; seed++) await client.ask({ ...question, seed }, signal);
  const keys = host.requests.map(({ key }) => key.at(-1)).join('');
  expect(keys).toBe('abcabca');
});

it('shares the load between the keys of a variable', async () => {
  const host = scriptedHost(() => says('yes'), { KEY: 'one| two |' });
  const client = await openModelClient(options, host);
  await Promise.all(
    ['a', 'b', 'c', 'd'].map((content) => client.ask({ ...question, messages: [{ role: 'user', content }] }, signal)),
  );
  expect(host.requests.map(({ key }) => key).sort()).toEqual(['one', 'one', 'two', 'two']);
});

it.each([status(401), status(403), status(429, '{"error":{"code":"insufficient_quota"}}'), status(402)])(
  'retires the key that gets %j, and uses a backup key only then',
  async (refusal) => {
    const asked = await ask([refusal, says('yes'), says('yes')], {}, { KEY: 'one', KEY_BACKUP: 'two' });
    await asked.client.ask({ ...question, seed: 2 }, signal);
    expect(asked.host.requests.map(({ key }) => key)).toEqual(['one', 'two', 'two']);
  },
);

it('is an outage once no key is left, and notices when one works again', async () => {
  const { answer, client, keys } = await ask([status(401, 'bad key secret-1'), says('yes')]);
  expect(answer).toBeInstanceOf(Outage);
  expect(String(answer)).toContain('No key of KEY is accepted at judge.example');
  expect(String(answer)).not.toContain('secret-1');
  expect(keys).toEqual(['secret-1']);
  expect(await client.ask(question, signal)).toMatchObject({ text: 'yes' });
});

it('leaves letters alone that a key of a local server is', async () => {
  const { answer } = await ask([status(401, 'who are you?')], {}, { KEY: 'o' });
  expect(String(answer)).toContain('who are you?');
});

it('says which variable has no key', async () => {
  await expect(
    openModelClient(
      options,
      scriptedHost(() => 'broken', {}),
    ),
  ).rejects.toThrow('KEY is not set');
});

it.each(['judge.example', 'ftp://judge.example', 'https://me:pw@judge.example'])(
  'refuses the address %s',
  async (baseUrl) => {
    await expect(
      openModelClient(
        { ...options, baseUrl },
        scriptedHost(() => 'broken'),
      ),
    ).rejects.toThrow('http(s)://host/v1');
  },
);

it('ends with the signal, in flight and before', async () => {
  const controller = new AbortController();
  const host = scriptedHost(() => 'silent');
  const client = await openModelClient(options, host);
  const asked = client.ask(question, controller.signal);
  await expect.poll(() => host.requests.length).toBe(1);
  controller.abort(new Error('the episode is over'));
  await expect(asked).rejects.toThrow('the episode is over');
  await expect(client.ask(question, controller.signal)).rejects.toThrow('the episode is over');
});

it('keeps the tokens of a minute under their limit', async () => {
  const host = scriptedHost(() => says('yes'));
  const limits = { ...options.limits, tokensPerMinute: 30 };
  const client = await openModelClient({ ...options, limits }, host);
  for (let seed = 0; seed < 9; seed++) await client.ask({ ...question, seed }, signal);
  expect(host.now()).toBeGreaterThanOrEqual(60_000);
  expect(host.now()).toBeLessThan(180_000);
});

const cacheFile = () => path.join(mkdtempSync(path.join(tmpdir(), 'answers-')), 'cache', 'answers.jsonl');

it('asks no question twice, within a run and after it', async () => {
  const file = cacheFile();
  const host = scriptedHost((_, at) => says(`answer ${at}`));
  const open = () => openModelClient({ ...options, cacheFile: file }, host);
  const first = await open();
  const answers = await Promise.all([first.ask(question, signal), first.ask(question, signal)]);
  const again = await (await open()).ask({ maxTokens: 10, temperature: 0, messages: question.messages }, signal);
  expect([...answers, again].map(({ text }) => text)).toEqual(['answer 0', 'answer 0', 'answer 0']);
  expect((await first.ask({ ...question, seed: 1 }, signal)).text).toBe('answer 1');
  expect(readFileSync(file, 'utf8')).not.toContain('secret-1');
});

it('cuts a line away that a kill left half written', async () => {
  const file = cacheFile();
  const host = scriptedHost((_, at) => says(`answer ${at}`));
  const open = () => openModelClient({ ...options, cacheFile: file }, host);
  await (await open()).ask(question, signal);
  appendFileSync(file, '{"key": "ab');
  expect((await (await open()).ask(question, signal)).text).toBe('answer 0');
  expect((await (await open()).ask({ ...question, seed: 1 }, signal)).text).toBe('answer 1');
  expect((await (await open()).ask({ ...question, seed: 1 }, signal)).text).toBe('answer 1');
});

it.each(['1e999', '-5', '"7"', 'null'])(
  'keeps an answer whose usage is %s so that it can be read again',
  async (tokens) => {
    const cacheFile = path.join(mkdtempSync(path.join(tmpdir(), 'cache-')), 'answers.jsonl');
    const usage = `{"prompt_tokens": ${tokens}}`;
    const body = `{"choices": [{"message": {"content": "\\ud800 yes"}}], "usage": ${usage}}`;
    const { answer } = await ask([status(200, body)], { cacheFile });
    expect(answer).toMatchObject({ promptTokens: 0 });
    const again = await ask(['broken'], { cacheFile });
    expect(again.answer).toEqual(answer);
  },
);

it('changes no file that is not a cache', async () => {
  const file = cacheFile();
  await openModelClient(
    { ...options, cacheFile: file },
    scriptedHost(() => 'broken'),
  );
  writeFileSync(file, 'my notes\n');
  const opened = openModelClient(
    { ...options, cacheFile: file },
    scriptedHost(() => 'broken'),
  );
  await expect(opened).rejects.toThrow(`${file}:1 is not an answer of a model`);
  expect(readFileSync(file, 'utf8')).toBe('my notes\n');
});

const unnamed = { keys: null };
const dashScope = { ...unnamed, baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' };

it("takes DASHSCOPE_API_KEY='a|b' and DASHSCOPE_API_KEY_BACKUP by themselves for a server of DashScope", async () => {
  const environment = {
    DASHSCOPE_API_KEY: 'first-a|first-b',
    DASHSCOPE_API_KEY_BACKUP: 'spare',
    OPENAI_API_KEY: 'other',
  };
  const { answer, keys } = await ask([status(401), status(401), says('yes')], dashScope, environment);
  expect(answer).toMatchObject({ text: 'yes' });
  expect(keys).toEqual(['first-a', 'first-b', 'spare']);
});

it('sends no key of DashScope elsewhere unless it is named, and says so', async () => {
  const environment = { DASHSCOPE_API_KEY: 'first-a|first-b' };
  await expect(ask([says('yes')], unnamed, environment)).rejects.toThrow(
    /OPENAI_API_KEY is not set\. .* DASHSCOPE_API_KEY is set: if it is for judge\.example, name it with keys: \[DASHSCOPE_API_KEY\]/,
  );
  const lookalike = { ...unnamed, baseUrl: 'https://dashscope.aliyuncs.com.example/v1' };
  await expect(ask([says('yes')], lookalike, environment)).rejects.toThrow(/OPENAI_API_KEY is not set/);
  const { keys } = await ask([says('yes')], { keys: ['DASHSCOPE_API_KEY'] }, environment);
  expect(keys).toEqual(['first-a']);
});

it('takes OPENAI_API_KEY for any other server', async () => {
  const { keys } = await ask([says('yes')], unnamed, { OPENAI_API_KEY: 'mine', DASHSCOPE_API_KEY: 'other' });
  expect(keys).toEqual(['mine']);
});
