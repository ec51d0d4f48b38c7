import { type DoorProject, expectPart, type Place } from '../door-project.js';

/** Names scorers of evaluation libraries as judges, in one line each, and scores two answers. */

const labelled = [
  { main_query: '2 + 2?', metadata: { answer: '4' }, answer: '4', score: 1 },
  { main_query: '2 + 2?', metadata: { answer: '4' }, answer: '5', score: 0 },
];

async function prepare({ write, install }: Place, packages: readonly string[], scorers = ''): Promise<void> {
  write({
    'package.json': { name: 'judged', private: true, type: 'module' },
    'agent.yaml': 'ajet: { task_judge: { judge_type: scorer } }\n',
    'labelled.jsonl': labelled.map((line) => `${JSON.stringify(line)}\n`).join(''),
    'scorers.ts': scorers,
  });
  await install(...packages);
}

/** Throws unless the scorer pays the right answer alone. */
async function expectAgreement({ sh }: Place, scorer: string, more = ''): Promise<void> {
  const named = `"task_judge.scorer.function=${scorer}" ${more}`;
  const output = await sh(`npx ajet judge --conf agent.yaml --examples labelled.jsonl --json ${named}`);
  expectPart(output, '"examples":2,"failed":0,"agreement":1,');
}

export const judgeProjects: readonly DoorProject[] = [
  {
    name: 'judge: autoevals',
    run: async (place) => {
      // Its model-graded scorers ask a client of OpenAI, which here answers from a script.
      await prepare(
        place,
        ['autoevals@0.3.0'],
        `import { Factuality } from 'autoevals';

const create = async ({ messages }: { messages: unknown }) => {
  const choice = JSON.stringify(messages).includes('[Submission]: 4') ? 'C' : 'D';
  const call = { name: 'select_choice', arguments: JSON.stringify({ choice, reasons: 'read' }) };
  return { choices: [{ message: { tool_calls: [{ id: 'c', type: 'function', function: call }] } }] };
};
export const factual = Factuality.partial({ model: 'gpt-4o', client: { chat: { completions: { create } } } as never });
`,
      );
      await expectAgreement(place, 'autoevals->Levenshtein');
      await expectAgreement(place, 'autoevals->ExactMatch');
      await expectAgreement(place, 'autoevals->NumericDiff', 'task_judge.scorer.read=number');
      await expectAgreement(place, 'scorers.ts->factual');
    },
  },
  {
    name: 'judge: evalite',
    run: async (place) => {
      await prepare(
        place,
        ['evalite@0.19.0', 'vitest@4.1.12'],
        `import { createScorer } from 'evalite';

export const equal = createScorer<string, string>({
  name: 'equal',
  scorer: ({ output, expected }) => ({ score: output === expected ? 1 : 0, metadata: { rationale: 'compared' } }),
});
export const inline = { name: 'inline', scorer: ({ output, expected }: { output: string; expected: string }) => Number(output === expected) };
`,
      );
      await expectAgreement(place, 'scorers.ts->equal');
      await expectAgreement(place, 'scorers.ts->inline');
    },
  },
  {
    name: 'judge: vitest-evals',
    run: async (place) => {
      await prepare(
        place,
        ['vitest-evals@0.16.1', 'vitest@4.1.12', 'zod@4.6.7'],
        `import { createJudgeHarness, FactualityJudge, type JudgeContext } from 'vitest-evals/judges';

export const equal = {
  name: 'equal',
  assess: ({ output, expected }: JudgeContext & { expected: string }) => ({ score: Number(output === expected) }),
};
const judgeHarness = createJudgeHarness({
  run: ({ prompt }) => ({ choice: prompt.includes('5') ? 'D' : 'C', rationale: 'read' }),
});
export const factual = FactualityJudge({ judgeHarness });
`,
      );
      await expectAgreement(place, 'scorers.ts->equal');
      await expectAgreement(place, 'scorers.ts->factual');
    },
  },
];
