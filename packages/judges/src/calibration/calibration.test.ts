import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outage, type ChatModel, type Task, type WorkflowOutput } from '@agentjet/core';
import { runEpisode, type Judge, type JudgeContext, type Tuner } from '@agentjet/rollout';
import { afterAll, describe, expect, it } from 'vitest';
import { createAnswerJudge } from '../answer/answer-judge.js';
import { calibrateJudge } from './calibrate-judge.js';
import { readLabelledExamples, type LabelledExample } from './labelled-examples.js';
import { rankCorrelation } from './rank-correlation.js';

const folder = mkdtempSync(path.join(tmpdir(), 'calibration-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const { signal } = new AbortController();

function write(...lines: readonly unknown[]): string {
  const file = path.join(folder, 'labelled.jsonl');
  writeFileSync(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  return file;
}

const lastWords = ({ transcripts }: JudgeContext) => transcripts.at(-1)?.messages.at(-1)?.content ?? '';
const row = (answer: string, label: object) => ({ main_query: 'q', answer, ...label });

it('correlates ranks, and shares those of equal values', () => {
  expect(rankCorrelation([1, 2, 3, 4], [10, 20, 30, 400])).toBeCloseTo(1);
  expect(rankCorrelation([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1);
  expect(rankCorrelation([1, 2, 2, 4], [1, 3, 2, 4])).toBeCloseTo(0.9487, 4);
  expect(rankCorrelation([1, 1], [1, 2])).toBeNull();
});

it('reads scores, labels and successes', () => {
  const file = write(
    row('a', { score: 3 }),
    '',
    row('b', { label: true }),
    row('c', { is_success: false, score: 2 }),
    row('d', { label: true, score: 0.8 }),
  );
  expect(readLabelledExamples(file).map(({ answer, score, isSuccess }) => [answer, score, isSuccess])).toEqual([
    ['a', 3, undefined],
    ['b', 1, true],
    ['c', 2, false],
    ['d', 0.8, true],
  ]);
});

it.each([
  [['no json'], /labelled\.jsonl:1: the line is "no json"/],
  [[row('a', { score: 1 }), row('b', {})], /labelled\.jsonl:2: "score" is missing/],
  [[{ answer: 'a', score: 1 }], /"main_query" is missing/],
  [[{ main_query: 'q', score: 1 }], /"answer" is missing/],
  [[{ main_query: 'q', ranked: ['a'] }], /"ranked" is not a list of two/],
  [[row('a', { score: 1, output_metadata: 'x' })], /"output_metadata" is "x"/],
  [[''], /holds no examples/],
])('says what is wrong with %j', (lines, message) => {
  expect(() => readLabelledExamples(write(...lines))).toThrow(message);
});

it('counts agreement, and leaves out what has no verdict', async () => {
  const judge: Judge = {
    judge: (_task, _output, context) => {
      const answer = Number(lastWords(context));
      if (answer === 4) throw new Outage('away');
      return { reward: answer, isSuccess: answer >= 2 };
    },
  };
  const examples = readLabelledExamples(
    write(...[0, 1, 2, 3, 4].map((at) => row(`${at}`, { score: at === 1 ? 3 : at }))),
  );
  const report = await calibrateJudge(judge, examples, { successFrom: null, parallel: 2, signal });
  expect(report).toMatchObject({
    examples: 5,
    failed: 1,
    firstFailure: 'outage: away',
    agreement: 0.75,
    voteSpread: null,
  });
  expect(report.rankCorrelation).toBeCloseTo(0.6325, 4);
});

const few = () => readLabelledExamples(write(row('1', { score: 1 }), row('0', { score: 0 })));

it('takes a success from the reward if the judge does not say it, and does not count a missing reward', async () => {
  const silent = {
    judge: (_task: unknown, _output: unknown, context: JudgeContext) => ({ reward: Number(lastWords(context)) }),
  };
  const options = { successFrom: null, parallel: 1, signal };
  expect(await calibrateJudge(silent as unknown as Judge, few(), options)).toMatchObject({
    agreement: 1,
    rankCorrelation: 1,
  });
  const broken: Judge = { judge: () => ({ reward: Number.NaN, isSuccess: true }) };
  expect(await calibrateJudge(broken, few(), options)).toMatchObject({
    failed: 2,
    firstFailure: expect.stringContaining('reward for task'),
    agreement: null,
    rankCorrelation: null,
  });
});

it('takes no example for a success if people gave all of them nothing', async () => {
  const judge: Judge = { judge: () => ({ reward: 0, isSuccess: false }) };
  const examples = readLabelledExamples(write(row('a', { score: 0 }), row('b', { score: 0 })));
  expect((await calibrateJudge(judge, examples, { successFrom: null, parallel: 1, signal })).agreement).toBe(1);
});

it('shows what an episode would: a question, the answer, and metadata only if the line has them', async () => {
  const seen: unknown[] = [];
  const judge: Judge = {
    judge: (_task, { metadata }, { transcripts }) => {
      seen.push([metadata?.['solution'], transcripts]);
      return { reward: 1, isSuccess: true };
    },
  };
  const file = write(row('4', { score: 1 }), row('It is 5', { score: 1, output_metadata: { solution: '5' } }));
  const options = { successFrom: null, parallel: 1, agents: ['solver'], signal };
  await calibrateJudge(judge, readLabelledExamples(file), options);
  const conversation = (content: string) => [
    {
      agentName: 'solver',
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content },
      ],
    },
  ];
  expect(seen).toEqual([
    [undefined, conversation('4')],
    ['5', conversation('It is 5')],
  ]);
});

describe('trajectories in ATIF', () => {
  const said = (message: string) => ({ source: 'agent', message });
  const document = (steps: readonly object[], more: object = {}) => ({
    schema_version: 'ATIF-v1.8',
    agent: { name: 'solver', version: '1' },
    steps: steps.map((step, at) => ({ step_id: at + 1, ...step })),
    ...more,
  });
  const asked = { source: 'user', message: '2 + 2?' };
  const call = { tool_call_id: 'a', function_name: 'add', arguments: { x: 2 } };
  const used = {
    ...said(''),
    tool_calls: [call],
    observation: { results: [{ source_call_id: 'a', content: '4' }] },
  };

  it('are examples: the whole conversation, and what people say of it', async () => {
    const seen: unknown[] = [];
    const judge: Judge = {
      judge: ({ mainQuery, metadata }, _output, { transcripts }) => {
        seen.push([mainQuery, metadata, transcripts.map(({ messages }) => messages.map(({ role }) => role).join())]);
        return { reward: Number(lastWords({ transcripts } as JudgeContext)), isSuccess: true };
      },
    };
    const file = write(
      document([asked, used, said('4')], { extra: { feedback: { thumb: 'up' }, metadata: { answer: 4 } } }),
      document([asked, said('5')], { session_id: 's', extra: { agentjet: { reward: 0.25, is_success: false } } }),
      document([asked, said('6')], { session_id: 's' }),
      row('7', { score: 1 }),
    );
    const examples = readLabelledExamples(file);
    expect(examples.map(({ answer, score, isSuccess }) => [answer, score, isSuccess])).toEqual([
      ['4', 1, true],
      ['6', 0.25, false],
      ['7', 1, undefined],
    ]);
    const report = await calibrateJudge(judge, examples, { successFrom: null, parallel: 1, signal });
    expect(report).toMatchObject({ examples: 3, failed: 0 });
    expect(seen).toEqual([
      ['2 + 2?', { answer: 4 }, ['user,assistant,tool,assistant']],
      ['2 + 2?', {}, ['user,assistant', 'user,assistant']],
      ['q', {}, ['user,assistant']],
    ]);
  });

  it('may be files of a folder, printed over many lines', () => {
    const dir = mkdtempSync(path.join(folder, 'atif-'));
    for (const name of ['b.json', 'a.json'])
      writeFileSync(
        path.join(dir, name),
        JSON.stringify(document([asked, said(name)], { extra: { score: 0.5 } }), null, 2),
      );
    expect(readLabelledExamples(dir).map(({ answer }) => answer)).toEqual(['a.json', 'b.json']);
    expect(() => readLabelledExamples(path.join(dir, 'a'))).toThrow(/cannot be read/);
  });

  it.each([
    [document([asked, said('4')]), /labelled\.jsonl: "score" is missing/],
    [document([said('4')], { extra: { score: 1 } }), /"main_query" is missing/],
    [document([], { extra: { score: 1 } }), /labelled\.jsonl is not a trajectory: steps is empty/],
  ])('say what they lack (%#)', (value, message) => {
    expect(() => readLabelledExamples(write(value))).toThrow(message);
  });
});

/** The reward of an episode in which the agent says this. */
async function rewardInARun(judge: Judge, { task, answer }: LabelledExample): Promise<number | null> {
  const message = { role: 'assistant', content: answer } as const;
  const usage = { promptTokens: 1, completionTokens: 1 };
  const said = { id: '1', model: 'm', message, finishReason: 'stop', usage } as const;
  const model: ChatModel = { name: 'm', generate: () => Promise.resolve(said) };
  const workflow = async ({ mainQuery }: Task, tuner: Tuner): Promise<WorkflowOutput> => {
    await tuner
      .selectModel({ agentName: 'solver' }, (given) => given)
      .generate({ messages: [{ role: 'user', content: mainQuery }] });
    return {};
  };
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 100 };
  const options = { workflow, policy: { kind: 'chat', model }, sampling, timeoutMs: 30_000, judge } as const;
  const episode = await runEpisode(task, options, { episodeId: 'e', repeatIndex: 0, seed: 0 });
  return episode.status === 'completed' ? episode.reward : null;
}

it.each([
  ['number', 'so 4', '4', 1],
  ['number', 'It makes 4.', '4', 0],
  ['number', 'First 5. The answer is 4.', '4', 1],
  ['number', 'First 4, then 5', '4', 0],
  ['choice', 'The answer is (B)\nbecause yes', 'B', 1],
  ['choice', 'The answer is (C)\nbecause yes', 'B', 0],
  ['text', 'Let me think\nAnswer: Paris', 'Paris', 1],
  ['text', 'Paris\nor Rome', 'Paris', 0],
  ['expression', 'So it is\n#### x + 1', '1 + x', 1],
  ['set', '<answer>a, b</answer>', 'b, a', 1],
] as const)('rewards by %s an answer such as %j as a run does', async (compare, answer, right, reward) => {
  const shared = { taskField: 'answer', outputField: 'answer', after: null, tolerance: 0, ignoreCase: true };
  const judge = createAnswerJudge({ ...shared, compare, agent: 'solver' });
  const examples = readLabelledExamples(write(row(answer, { score: 1, metadata: { answer: right } })));
  const [example] = examples;
  expect(example && (await rewardInARun(judge, example))).toBe(reward);
  const options = { successFrom: null, parallel: 1, agents: ['solver'], signal };
  expect((await calibrateJudge(judge, examples, options)).agreement).toBe(reward);
});

it('averages the spread of votes of the parts of a judge', async () => {
  const judge: Judge = { judge: () => ({ reward: 1, isSuccess: true, parts: { llm: 1, 'llm/vote_spread': 0.25 } }) };
  expect((await calibrateJudge(judge, few(), { successFrom: null, parallel: 1, signal })).voteSpread).toBe(0.25);
});

it('refuses a judge that needs an environment', async () => {
  const judge: Judge = { needsEnvironment: true, judge: () => ({ reward: 1, isSuccess: true }) };
  const asked = calibrateJudge(judge, few(), { successFrom: null, parallel: 1, signal });
  await expect(asked).rejects.toThrow('labelled examples have none');
});

it('asks nothing more once it is stopped', async () => {
  const controller = new AbortController();
  let numAsked = 0;
  const judge: Judge = {
    judge: () => {
      numAsked++;
      controller.abort(new Error('ctrl-c'));
      return { reward: 1, isSuccess: true };
    },
  };
  const asked = calibrateJudge(judge, few(), { successFrom: null, parallel: 1, signal: controller.signal });
  await expect(asked).rejects.toThrow('ctrl-c');
  expect(numAsked).toBe(1);
});
