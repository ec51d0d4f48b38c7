import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom, type Task } from '@agentjet/core';
import { openModelClient } from '@agentjet/model-client';
import { says, scriptedHost } from '@agentjet/model-client/testing';
import { judgeCases } from '@agentjet/rollout/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { attacks } from '../testing/attacks.js';
import { calibrateJudge } from '../calibration/calibrate-judge.js';
import type { LabelledExample } from '../calibration/labelled-examples.js';
import { fitWeights } from './fit-weights.js';
import { learnRubrics } from './learn-rubrics.js';
import { openRubrics } from './open-rubrics.js';
import { createRubricsJudge } from './rubrics-judge.js';
import { formatRubrics, parseRubrics, type Criterion } from './rubrics-file.js';

const folder = mkdtempSync(path.join(tmpdir(), 'rubrics-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const signal = new AbortController().signal;
const task: Task = { taskId: 't', mainQuery: 'Why is the sky blue?', initMessages: [], metadata: {} };
const limits = { maxConcurrent: 4, requestsPerMinute: null, tokensPerMinute: null, timeoutSeconds: 5, maxRetries: 0 };

/** Counts words and marks, as its criteria say, and proposes one useless criterion. */
function answerOf(messages: readonly { readonly content: string }[]): string {
  const [system = '', , third = ''] = messages.map(({ content }) => content);
  const code = /"code": "(\w+)"/.exec(system)?.[1];
  if (code === undefined) {
    const criteria = ['Names a Cause', 'length', 'politeness'].map((name) => ({ name, text: `How much ${name}.` }));
    return JSON.stringify({ criteria });
  }
  const text = JSON.parse(third.split('\n')[1] ?? '""') as string;
  const known: Readonly<Record<string, number>> = {
    names_a_cause: text.includes('scatter') ? 10 : 0,
    length: Math.min(10, text.split(' ').length),
    politeness: text.length % 3,
  };
  const names = [...system.matchAll(/^([a-z_]+): /gm)].map((match) => match[1] ?? '');
  return JSON.stringify({
    code,
    reason: 'counted',
    scores: Object.fromEntries(names.map((name) => [name, known[name] ?? 0])),
  });
}

async function openClient(answer = answerOf) {
  const host = scriptedHost(({ body }) => says(answer(body['messages'] as { content: string }[])));
  const client = await openModelClient(
    { baseUrl: 'http://judge/v1', model: 'm', keys: ['KEY'], backupKeys: [], limits, cacheFile: null },
    host,
  );
  return { client, host };
}

/** Creates answers whose hidden score depends mostly on whether they name the cause, and a little on their length. */
function createExamples(count: number): readonly LabelledExample[] {
  const random = createRandom(3);
  return Array.from({ length: count }, (_, at) => {
    const words = 1 + random.int(9);
    const isCause = random.next() < 0.5;
    const answer = `${'word '.repeat(words)}${isCause ? 'scatter' : 'nothing'} ${at}`;
    const score = (isCause ? 0.8 : 0) + words / 45;
    return {
      task: { ...task, mainQuery: `Question ${at}?` },
      output: { metadata: { answer } },
      answer,
      score,
      isSuccess: undefined,
    };
  });
}

const options = {
  votes: 1,
  temperature: 0,
  maxTokens: 100,
  successFrom: 0.7,
  outputField: 'answer',
  agent: null,
  onOutage: 'pause',
} as const;
const criteria: readonly Criterion[] = [
  { name: 'names_a_cause', weight: 3, text: 'names the cause' },
  { name: 'length', weight: 1, text: 'is long' },
];

describe('learning', () => {
  it('finds the criteria that the scores follow, and says how well on examples it has not seen', async () => {
    const { client } = await openClient();
    const learned = await learnRubrics(client, createExamples(20), {
      maxCriteria: 5,
      heldOut: 0.3,
      maxTokens: 100,
      signal,
    });
    expect(learned).toMatchObject({ numLearned: 14, numHeldOut: 6 });
    expect(learned.rankCorrelation).toBeGreaterThanOrEqual(0.8);
    const [first] = learned.criteria.toSorted((a, b) => b.weight - a.weight);
    expect(first).toMatchObject({ name: 'names_a_cause', text: 'How much Names a Cause.' });
    expect(learned.criteria.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1);
  });

  it('is done once: from then on the file counts, as people have edited it', async () => {
    const { client, host } = await openClient();
    const file = path.join(folder, 'sub/rubrics.md');
    const examples = path.join(folder, 'examples.jsonl');
    const lines = createExamples(12).map(({ task: { mainQuery }, answer, score }) =>
      JSON.stringify({ main_query: mainQuery, answer, score }),
    );
    writeFileSync(examples, lines.join('\n'));
    const open = () => openRubrics(client, { file, examples, maxCriteria: 3, heldOut: 0.3, maxTokens: 100, signal });
    const learned = await open();
    expect(existsSync(file)).toBe(true);
    const asked = host.requests.length;
    writeFileSync(file, readFileSync(file, 'utf8').replace(/weight: [\d.]+/, 'weight: 7'));
    const edited = await open();
    expect(edited[0]?.weight).toBe(7);
    expect(edited.map(({ name }) => name)).toEqual(learned.map(({ name }) => name));
    expect(host.requests).toHaveLength(asked);
  });

  it('keeps criteria whose names have no Latin letters, and words that look like a heading', async () => {
    const proposed = ['原因', '长度'].map((name) => ({ name, text: `## ${name}\nmatters` }));
    const score = (messages: readonly { readonly content: string }[], code: string) => {
      const text = messages[2]?.content ?? '';
      const scores = {
        criterion: text.includes('scatter') ? 10 : 0,
        criterion_2: Math.min(10, text.split(' ').length / 2),
      };
      return JSON.stringify({ code, reason: '', scores });
    };
    const { client } = await openClient((messages) => {
      const code = /"code": "(\w+)"/.exec(messages[0]?.content ?? '')?.[1];
      return code === undefined ? JSON.stringify({ criteria: proposed }) : score(messages, code);
    });
    const examples = path.join(folder, 'chinese.jsonl');
    const lines = createExamples(20).map(({ task: { mainQuery }, answer, score: given }) =>
      JSON.stringify({ main_query: mainQuery, answer, score: given }),
    );
    writeFileSync(examples, lines.join('\n'));
    const file = path.join(folder, 'chinese.md');
    const learned = await openRubrics(client, { file, examples, maxCriteria: 3, heldOut: 0.3, maxTokens: 100, signal });
    expect(learned.map(({ name, text }) => [name, text])).toEqual([
      ['criterion', '原因 matters'],
      ['criterion_2', '长度 matters'],
    ]);
  });

  it('reads ranked answers too', async () => {
    const { client } = await openClient();
    const examples = path.join(folder, 'ranked.jsonl');
    const row = (at: number) => ({ question: `Q${at}`, ranked: [`scatter scatter ${at}`, `scatter ${at}`, `${at}`] });
    writeFileSync(examples, Array.from({ length: 6 }, (_, at) => JSON.stringify(row(at))).join('\n'));
    const learned = await openRubrics(client, {
      file: path.join(folder, 'ranked.md'),
      examples,
      maxCriteria: 3,
      heldOut: 0.3,
      maxTokens: 100,
      signal,
    });
    expect(learned.map(({ name }) => name)).toContain('names_a_cause');
  });

  it('stops when its signal aborts, and writes no file', async () => {
    const controller = new AbortController();
    const enough = new Error('stopped by SIGINT');
    const { client } = await openClient((messages) => {
      if (messages[0]?.content.includes('"code"') === true) controller.abort(enough);
      return answerOf(messages);
    });
    const examples = path.join(folder, 'stopped.jsonl');
    const row = (at: number) => ({ question: `Q${at}`, ranked: [`scatter ${at}`, `${at}`] });
    writeFileSync(examples, Array.from({ length: 6 }, (_, at) => JSON.stringify(row(at))).join('\n'));
    const file = path.join(folder, 'stopped.md');
    const learning = { maxCriteria: 3, heldOut: 0.3, maxTokens: 100, signal: controller.signal };
    await expect(openRubrics(client, { file, examples, ...learning })).rejects.toBe(enough);
    expect(existsSync(file)).toBe(false);
  });

  it('says if there are too few examples, and if there is neither a file nor examples', async () => {
    const { client } = await openClient();
    const learning = learnRubrics(client, createExamples(5), { maxCriteria: 3, heldOut: 0.3, maxTokens: 100, signal });
    await expect(learning).rejects.toThrow(/at least 6 answers/);
    const opening = openRubrics(client, {
      file: path.join(folder, 'none.md'),
      examples: null,
      maxCriteria: 3,
      heldOut: 0.3,
      maxTokens: 100,
      signal,
    });
    await expect(opening).rejects.toThrow(/does not exist/);
  });
});

describe('judging', async () => {
  const { client } = await openClient();
  const said = (answer: string, reward: number) => ({ task, output: { metadata: { answer } }, reward });
  const open = () => createRubricsJudge(client, { ...options, criteria });
  for (const { name, run } of judgeCases(open, [said('scatter light', 0.8), said('no idea at all', 0.1), said('', 0)]))
    it(name, run);

  it('makes each criterion a part', async () => {
    const context = { episodeId: 'e', signal, seed: 1, transcripts: [], environment: null };
    const verdict = await open().judge(task, { metadata: { answer: 'scatter light' } }, context);
    expect(verdict).toMatchObject({ isSuccess: true, parts: { names_a_cause: 1, length: 0.2 }, reason: 'counted' });
  });

  it.each(attacks.map((attack, at) => [at, attack] as const))('takes no score from attack %i', async (_at, attack) => {
    const { client: parrot } = await openClient((messages) => messages.at(-1)?.content.split('\n')[1] ?? '');
    const context = { episodeId: 'e', signal, seed: 1, transcripts: [], environment: null };
    const judge = createRubricsJudge(parrot, { ...options, criteria });
    await expect(judge.judge(task, { metadata: { answer: attack } }, context)).rejects.toThrow('wrote no scores');
  });
});

describe('the file', () => {
  it('is read as it was written', () => {
    expect(parseRubrics(formatRubrics(criteria, 'Learned.'), 'r.md')).toEqual(criteria);
  });

  it.each([
    ['# Rubrics', /r\.md:1: there is no criterion/],
    ['## A b\nweight: 1\ntext', /r\.md:1: "A b" is not a name/],
    ['\n## a\nweight: much\ntext', /r\.md:3: the weight of "a" is weight: much/],
    ['## a\ntext', /the weight of "a" is missing|the weight of "a" is ## a/],
    ['## a\nweight: 1\n', /"a" does not say what is good/],
    ['## a\nweight: 1\nx\n## a\nweight: 1\ny', /two criteria have the name "a"/],
    ['## a\nweight: 0\nx', /every weight is 0/],
  ])('says where %j is wrong', (markdown, message) => {
    expect(() => parseRubrics(markdown, 'r.md')).toThrow(message);
  });
});

it('fits weights that are not negative', () => {
  const random = createRandom(1);
  const rows = Array.from({ length: 400 }, () => [random.next(), random.next(), random.next()]);
  const weights = fitWeights(
    rows,
    rows.map(([a = 0, b = 0, c = 0]) => 0.6 * a + 0.2 * b - 0.5 * c),
  );
  expect(weights[2]).toBe(0);
  expect((weights[0] ?? 0) / (weights[1] ?? 1)).toBeGreaterThan(1.5);
});

it('is calibrated against labelled answers', async () => {
  const { client } = await openClient();
  const judge = createRubricsJudge(client, { ...options, criteria, votes: 2 });
  const report = await calibrateJudge(judge, createExamples(20), { successFrom: 0.5, parallel: 4, signal });
  expect(report).toMatchObject({ examples: 20, failed: 0, voteSpread: 0, usage: { calls: 40, promptTokens: 200 } });
  expect(report.rankCorrelation).toBeGreaterThan(0.8);
  expect(report.agreement).toBeGreaterThan(0.8);
});
