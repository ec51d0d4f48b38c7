import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError, JudgeError, Outage, type CommonConfig, type Task } from '@agentjet/core';
import { openModelClient } from '@agentjet/model-client';
import { says, scriptedHost, type ScriptedAnswer, type SeenRequest } from '@agentjet/model-client/testing';
import { judgeCases } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { attacks } from '../testing/attacks.js';
import { createLlmJudge, type LlmJudgeOptions } from './llm-judge.js';
import { llm } from './registration.js';

const options: LlmJudgeOptions = {
  rubric: 'Good answers are polite.',
  scale: 10,
  referenceField: null,
  votes: 1,
  temperature: 0,
  maxTokens: 100,
  successFrom: 0.7,
  outputField: 'answer',
  agent: null,
  onOutage: 'pause',
};
const task: Task = { taskId: 't', mainQuery: 'Say hello.', initMessages: [], metadata: { reference: 'Hello, dear.' } };
const context = { episodeId: 'e', signal: new AbortController().signal, seed: 1, transcripts: [], environment: null };

const messagesOf = ({ body }: SeenRequest) => body['messages'] as readonly { role: string; content: string }[];
const codeIn = (request: SeenRequest) => /"code": "(\w+)"/.exec(messagesOf(request)[0]?.content ?? '')?.[1] ?? '';
const candidateIn = (request: SeenRequest): unknown => JSON.parse(messagesOf(request)[2]?.content.split('\n')[1] ?? '');
const verdict = (request: SeenRequest, score: number, reason = 'because') =>
  JSON.stringify({ code: codeIn(request), reason, score });

async function open(
  reply: (request: SeenRequest, at: number) => ScriptedAnswer,
  changes: Partial<LlmJudgeOptions> = {},
) {
  const host = scriptedHost(reply);
  const limits = { maxConcurrent: 4, requestsPerMinute: null, tokensPerMinute: null, timeoutSeconds: 9, maxRetries: 1 };
  const client = await openModelClient(
    { baseUrl: 'http://judge/v1', model: 'm', keys: ['KEY'], backupKeys: [], limits, cacheFile: null },
    host,
  );
  const judge = createLlmJudge(client, { ...options, ...changes });
  const ask = async (answer: unknown, about: Task = task) => judge.judge(about, { metadata: { answer } }, context);
  return { host, judge, ask };
}

const polite = (request: SeenRequest) =>
  says(verdict(request, String(candidateIn(request)).includes('please') ? 8 : 1));
const said = (answer: string, reward: number) => ({ task, output: { metadata: { answer } }, reward });
for (const { name, run } of judgeCases(
  async () => (await open(polite)).judge,
  [said('Hello, please', 0.8), said('Go away', 0.1), said('', 0)],
))
  it(name, run);

it('shows the judge the rubric, the task and the answer, each in its place', async () => {
  const { host, ask } = await open((request) => says(verdict(request, 10)), { referenceField: 'reference' });
  expect(await ask('Hi')).toEqual({ reward: 1, isSuccess: true, reason: 'because' });
  const [system, about, candidate] = messagesOf(host.requests[0] ?? { url: '', key: '', body: {} });
  expect(system?.content).toContain('Good answers are polite.');
  expect(about?.content).toContain('{"task":"Say hello.","reference_answer":"Hello, dear."}');
  expect(candidate?.content).toContain('"Hi"');
});

it.each([
  ['inside a code fence', (body: string) => `\`\`\`json\n${body}\n\`\`\``],
  ['after thoughts', (body: string) => `<think>{"score": 1}</think>\n${body}`],
])('reads a verdict %s', async (_, wrap) => {
  const { ask } = await open((request) => says(wrap(verdict(request, 5))));
  expect(await ask('Hi')).toMatchObject({ reward: 0.5, isSuccess: false });
});

it('asks again, saying what was wrong, and then gives no reward', async () => {
  const { host, ask } = await open((request, at) => says(at === 0 ? 'Ten!' : verdict(request, 4)));
  expect(await ask('Hi')).toMatchObject({ reward: 0.4 });
  expect(messagesOf(host.requests[1] ?? { url: '', key: '', body: {} }).at(-1)?.content).toContain('not the verdict');
  expect(messagesOf(host.requests[1] ?? { url: '', key: '', body: {} }).at(-1)?.content).toContain('"Ten!"');
  const never = await open(() => says('Ten!'));
  await expect(never.ask('Hi')).rejects.toThrow(JudgeError);
  expect(never.host.requests).toHaveLength(3);
});

it.each([
  ['a score beyond the scale', { score: 11 }],
  ['a negative score', { score: -1 }],
  ['a score in words', { score: '10' }],
  ['no score', { score: undefined }],
  ['another code', { code: '000000000000' }],
  ['a further property', { reward: 10 }],
])('takes no verdict with %s', async (_, changes) => {
  const { ask } = await open((request) =>
    says(JSON.stringify({ code: codeIn(request), reason: '', score: 5, ...changes })),
  );
  await expect(ask('Hi')).rejects.toThrow('The judge wrote no verdict');
});

it.each([
  ['a score that is not a number', (body: string) => body.replace('5', 'NaN')],
  ['a score that is too large for a number', (body: string) => body.replace('5', '1e999')],
  ['a score in a list', (body: string) => body.replace('5', '[5]')],
  ['a score of null', (body: string) => body.replace('5', 'null')],
  ['its end cut off', (body: string) => body.slice(0, -1)],
  ['a list around it', (body: string) => `[${body}]`],
  ['words before it', (body: string) => `Here you are: ${body}`],
  ['words after it', (body: string) => `${body} I hope that helps.`],
  ['another verdict after it', (body: string) => `${body}\n${body}`],
  ['a prototype', (body: string) => body.replace('{', '{"__proto__": {"score": 10}, ')],
  ['comments', (body: string) => body.replace('{', '{ /* fine */')],
  ['a byte order mark', (body: string) => `\ufeff${body}x`],
  ['thoughts that never end', (body: string) => `<think>${body}`],
])('takes no verdict with %s', async (_, spoil) => {
  const { ask } = await open((request) => says(spoil(JSON.stringify({ code: codeIn(request), reason: '', score: 5 }))));
  await expect(ask('Hi')).rejects.toThrow('The judge wrote no verdict');
});

it('takes the mean of the votes, and shows their spread', async () => {
  const { ask, host } = await open((request) => says(verdict(request, Number(request.body['seed']) * 5)), { votes: 3 });
  expect(await ask('Hi')).toMatchObject({ reward: 0.5, parts: { vote_spread: 1 } });
  expect(host.requests).toHaveLength(3);
});

it.each(attacks.map((attack) => [attack.slice(0, 40), attack]))(
  'keeps the attack %j inside its string',
  async (_, attack) => {
    const { host, ask } = await open((request) => says(verdict(request, 1)));
    expect(await ask(attack)).toMatchObject({ reward: 0.1 });
    const [request] = host.requests;
    if (request === undefined) throw new Error('nothing was asked');
    expect(candidateIn(request)).toBe(attack);
    expect(messagesOf(request)).toHaveLength(3);
    expect(messagesOf(request)[0]?.content).not.toContain(attack);
    expect(messagesOf(request)[1]?.content).not.toContain(attack);
  },
);

it.each(attacks.map((attack) => [attack.slice(0, 40), attack]))(
  'takes no verdict out of the attack %j from a judge that repeats it',
  async (_, attack) => {
    const { ask, host } = await open((request) => says(String(candidateIn(request))));
    await expect(ask(attack)).rejects.toThrow(JudgeError);
    for (const request of host.requests)
      for (const { role, content } of messagesOf(request).slice(3)) {
        const [before, json = '', after, ...more] = content.split('\n');
        expect(JSON.parse(json)).toMatchObject({ reply: attack.slice(0, 2000) });
        expect([role, before, after, more]).toEqual([
          'user',
          'That is not the verdict. Your reply and what is wrong with it, as JSON:',
          'Reply with the one JSON object that was asked for and nothing else.',
          [],
        ]);
      }
  },
);

const hugeBody = JSON.stringify({ choices: [{ message: { content: 'x'.repeat(9 * 2 ** 20) } }] });

it.each([
  ['nothing', 'broken'],
  ['a page', { status: 200, body: '<html><body>Sign in to the Wi-Fi</body></html>' }],
  ['half of JSON', { status: 200, body: '{"choices": [{"message": {"content": "{\\"sco' }],
  ['no words', { status: 200, body: '{"choices": [{"message": {"content": null}}]}' }],
  ['another shape', { status: 200, body: '{"choices": {"0": {"message": {"content": "10"}}}}' }],
  ['9 MB', { status: 200, body: hugeBody }],
  ['an address', { status: 302, body: '', headers: { location: 'http://elsewhere' } }],
  ['an error', { status: 500, body: '' }],
  ['that the key is wrong', { status: 401, body: '' }],
  ['that the quota is used up', { status: 429, body: '{"code":"insufficient_quota"}' }],
] as const)('gives no reward if the judge answers %s', async (_, answer) => {
  await expect((await open(() => answer)).ask('Hi')).rejects.toThrow(Outage);
  await expect((await open(() => answer, { onOutage: 'drop' })).ask('Hi')).rejects.toThrow(JudgeError);
  await expect((await open(() => answer, { onOutage: 'stop' })).ask('Hi')).rejects.toThrow(ConfigError);
});

it('gives no reward if one of its votes is missing', async () => {
  const { ask } = await open((request) => (request.body['seed'] === 2 ? 'broken' : says(verdict(request, 9))), {
    votes: 3,
  });
  await expect(ask('Hi')).rejects.toThrow(Outage);
});

it('refuses a task without the reference answer that the judge is to see', async () => {
  const { ask, host } = await open(polite, { referenceField: 'refrence' });
  await expect(ask('Hi')).rejects.toThrow('metadata.refrence of task "t" is missing. The task has reference: correct');
  expect(host.requests).toHaveLength(0);
});

it('refuses a task without a question', async () => {
  const { ask, host } = await open(polite);
  await expect(ask('Hi', { ...task, mainQuery: ' ' })).rejects.toThrow('neither main_query nor init_messages');
  expect(host.requests).toHaveLength(0);
});

it('opens from a configuration, with a rubric from a file', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'llm-judge-'));
  const rubric = path.join(folder, 'rubric.md');
  writeFileSync(rubric, 'Be kind.');
  const config = { experimentDir: folder, experimentName: 'e' } as CommonConfig;
  const section = {
    ...options,
    baseUrl: 'http://127.0.0.1:9/v1',
    model: 'm',
    keys: ['AJET_TEST_JUDGE_KEY'],
    backupKeys: [],
    rubric,
    maxConcurrent: 1,
    requestsPerMinute: null,
    tokensPerMinute: null,
    timeout: 1,
  };
  await expect((async () => llm.open(section, { config }))()).rejects.toThrow('AJET_TEST_JUDGE_KEY is not set');
  await expect((async () => llm.open({ ...section, rubric: null }, { config }))()).rejects.toThrow(
    'llm.rubric is not set',
  );
  await expect((async () => llm.open({ ...section, rubric: 'none.md' }, { config }))()).rejects.toThrow();
});
