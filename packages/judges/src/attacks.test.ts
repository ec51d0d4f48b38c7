import { JudgeError, type Task, type Verdict } from '@agentjet/core';
import { openModelClient } from '@agentjet/model-client';
import { says, scriptedHost } from '@agentjet/model-client/testing';
import type { Judge } from '@agentjet/rollout';
import { openCodeRunner } from '@agentjet/sandbox';
import { afterAll, expect, it } from 'vitest';
import { createAnswerJudge } from './answer/answer-judge.js';
import { comparisons } from './shared-settings.js';
import { createCombinedJudge } from './combined/combined-judge.js';
import { createCountdownJudge } from './countdown/countdown-judge.js';
import { createEnvironmentJudge } from './environment/environment-judge.js';
import { attacks } from './testing/attacks.js';
import { createLlmJudge } from './llm/llm-judge.js';
import { createRubricsJudge } from './rubrics/rubrics-judge.js';
import { singleJudges } from './registrations.js';
import { createScorerJudge } from './scorer/scorer-judge.js';
import { createTestsJudge } from './tests/tests-judge.js';

/**
 * Runs every judge of this package against texts that candidates write to gain a reward or to keep a judge busy. None
 * of them deserves a reward.
 */

/** Quadratic work at this size takes minutes. */
const many = 300_000;
const limitMs = 30_000;
const floods: readonly string[] = [
  `${'.'.repeat(many)}x`,
  `${'*'.repeat(many)}x`,
  `${"'".repeat(many)}x`,
  `^${' '.repeat(many)}x`,
  `^${'\\,'.repeat(many / 2)}x`,
  `^{${' '.repeat(many)}x`,
  `answer:${'\n'.repeat(many)}`,
  `answer${' '.repeat(many)}`,
  'answer is '.repeat(many / 10),
  '\\boxed{'.repeat(many / 10),
  '\\frac{'.repeat(many / 10),
  `\\frac{${'1'.repeat(many)}}`,
  '<answer>'.repeat(many / 10),
  '<think>'.repeat(many / 10),
  '####\n'.repeat(many / 10),
  '```\n'.repeat(many / 5 + 1),
  '('.repeat(many),
  `${'('.repeat(many)}1${')'.repeat(many)}`,
  `\\boxed{${'('.repeat(900)}1${')'.repeat(900)}}`,
  '1,'.repeat(many / 2),
  `\\boxed{${'1 '.repeat(140)}}`,
  `\\boxed{${'1,111'.repeat(55)}/}`,
  '9'.repeat(many),
  '\\boxed{1e99}',
  '\\boxed{1/0}',
  '\\boxed{9^9^9^9}',
  `\\boxed{${'(9^64)^64*'.repeat(100)}1}`,
  '\\boxed{NaN}',
  '\\boxed{Infinity - Infinity}',
  '\\boxed{__proto__}',
  '\\boxed{true}',
  '<answer></answer>',
  '-'.repeat(many),
  '- '.repeat(many / 2),
  '\ufdfa'.repeat(many / 4),
  'while (true) {}',
  'for (let text = "x"; ; ) text += text;',
  'throw undefined',
  '} } } ; 0; {',
  '*/ "passed" /*',
  'process.exit(0)',
  'Error = function () {}; globalThis.Error = Error; function add() { return 0 }',
  'function add() { throw null }',
  'Object.defineProperty(globalThis, "add", { get() { throw 1 } })',
];

const task: Task = {
  taskId: 't',
  mainQuery: 'Reach 24.',
  initMessages: [],
  metadata: {
    target: 24,
    numbers: [3, 8, 1],
    number: '24',
    text: 'Paris',
    choice: 'Q',
    expression: 'x^2 + 7',
    set: '{3, 8, 24}',
    tests: ['if (add(1, 2) !== 3) throw new Error("1 + 2")', { stdin: '3 8', stdout: '24' }],
  },
};

const source = { outputField: 'answer', agent: null };
const asked = { votes: 1, temperature: 0, maxTokens: 100, successFrom: 0.7, onOutage: 'pause', ...source } as const;
const runner = openCodeRunner('javascript');
afterAll(() => runner.close());
const tests = createTestsJudge(runner, {
  language: 'javascript',
  testsField: 'tests',
  limits: { seconds: 0.2, megabytes: 32 },
  ...source,
});
const answers = comparisons.map((compare) => {
  const shared = { ...source, after: null, tolerance: 0.01, ignoreCase: true };
  return [`answer by ${compare}`, createAnswerJudge({ ...shared, compare, taskField: compare })] as const;
});
const countdown = createCountdownJudge({
  ...source,
  targetField: 'target',
  numbersField: 'numbers',
  formReward: 0,
  useAll: true,
});
const part = (name: string, judge: Judge, isGate = false) => ({ name, judge, weight: 1, isGate });

/** Opens a model that repeats the candidate's answer. */
async function openParrot() {
  const host = scriptedHost(({ body }) => {
    const messages = body['messages'] as readonly { readonly content: string }[];
    return says(String(JSON.parse(messages[2]?.content.split('\n')[1] ?? '""')));
  });
  const limits = { maxConcurrent: 4, requestsPerMinute: null, tokensPerMinute: null, timeoutSeconds: 9, maxRetries: 0 };
  const about = { baseUrl: 'http://judge/v1', model: 'm', keys: ['KEY'], backupKeys: [], limits, cacheFile: null };
  return openModelClient(about, host);
}

const client = await openParrot();
const judges: readonly (readonly [name: string, judge: Judge])[] = [
  ...answers,
  ['countdown', countdown],
  ['environment', createEnvironmentJudge({ scale: 1, successBonus: 1, successFrom: null })],
  ['llm', createLlmJudge(client, { ...asked, rubric: 'Be polite.', scale: 10, referenceField: null })],
  ['rubrics', createRubricsJudge(client, { ...asked, criteria: [{ name: 'polite', weight: 1, text: 'Be polite.' }] })],
  ['scorer of text', createScorerJudge(({ output, expected }) => Number(output === expected), { taskField: 'text' })],
  [
    'scorer of numbers',
    createScorerJudge(({ output }) => Number(output === 24), { taskField: 'number', read: 'number' }),
  ],
  ['tests', tests],
  [
    'combined',
    createCombinedJudge(
      [part('countdown', countdown, true), ...answers.slice(0, 1).map(([name, judge]) => part(name, judge))],
      { gateReward: 0, successFrom: null },
    ),
  ],
];

it('are all the judges that there are', () => {
  const tried = new Set(judges.map(([name]) => name.split(' ')[0]));
  expect([...tried].toSorted()).toEqual([...singleJudges.map(({ name }) => name), 'combined'].toSorted());
});

/** Null means that there is no verdict and so no reward. */
async function ask(judge: Judge, output: object, said: string): Promise<Verdict | null> {
  const transcripts = [{ agentName: 'a', messages: [{ role: 'assistant', content: said }] }] as const;
  const environment = { reward: 0, isSuccess: false };
  const { signal } = new AbortController();
  try {
    return await judge.judge(task, output, { episodeId: 'e', signal, seed: 1, transcripts, environment });
  } catch (error) {
    if (error instanceof JudgeError && error.code === 'unreadable_verdict') return null;
    throw error;
  }
}

const all = [...attacks, ...floods];
it.each(judges.flatMap(([name, judge]) => all.map((attack, at) => [name, at, judge, attack] as const)))(
  'judge %s gives attack %i nothing',
  async (_name, _at, judge, attack) => {
    for (const verdict of [await ask(judge, {}, attack), await ask(judge, { metadata: { answer: attack } }, '')])
      expect(verdict ?? { reward: 0, isSuccess: false }).toMatchObject({ reward: 0, isSuccess: false });
  },
  limitMs,
);
