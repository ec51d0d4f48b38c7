import { readFile } from 'node:fs/promises';
import type { Task } from '@agentjet/core';
import { createAnswerJudge } from '@agentjet/judges';
import type { JudgeContext } from '@agentjet/rollout';

/**
 * Does the judge `answer` reward right answers and nothing else? Each file of `files` has one form per line: the right
 * answer, what the agent says, and whether that should be rewarded. Authors b and c knew only the judge's page: b wrote
 * half of `answers.jsonl`, and c wrote `blind-answers.jsonl`. Author d had read the code, and wrote
 * `style-answers.jsonl` before the judge was asked about any of its forms. Authors e and f knew neither page nor code
 * when they wrote `second-blind-answers.jsonl` and `third-blind-answers.jsonl`. `later-answers.jsonl` has forms that
 * revealed mistakes, and similar forms. These are tested but not counted.
 */

export const files = [
  'answers.jsonl',
  'blind-answers.jsonl',
  'style-answers.jsonl',
  'second-blind-answers.jsonl',
  'third-blind-answers.jsonl',
] as const;

type Form = {
  readonly author: 'a' | 'b' | 'c' | 'd' | 'e' | 'f';
  readonly kind: string;
  readonly compare: 'text' | 'number' | 'choice' | 'expression' | 'set';
  readonly gold: string;
  readonly output: string;
  readonly paid: boolean;
};

export type AnswersFigures = {
  readonly forms: number;
  readonly wrong_credit: number;
  readonly missed_credit_share: number;
};

export async function measureAnswers(): Promise<AnswersFigures> {
  const { forms, wrong, missed } = await judgeAllForms();
  const toPay = forms.filter(({ paid }) => paid).length;
  return { forms: forms.length, wrong_credit: wrong.length, missed_credit_share: missed.length / toPay };
}

/** Judges the forms of all files that are counted. */
export async function judgeAllForms() {
  const judged = await Promise.all(files.map(judgeForms));
  return {
    forms: judged.flatMap(({ forms }) => forms),
    wrong: judged.flatMap(({ wrong }) => wrong),
    missed: judged.flatMap(({ missed }) => missed),
  };
}

/**
 * Returns the forms of a file, the forms that were rewarded but should not be, and the forms that should be rewarded
 * but were not.
 */
export async function judgeForms(name: string) {
  const file = await readFile(new URL(`data/${name}`, import.meta.url), 'utf8');
  const forms = file
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Form);
  const [wrong, missed]: [Form[], Form[]] = [[], []];
  for (const form of forms) {
    const isPaid = await isFormPaid(form);
    if (isPaid && !form.paid) wrong.push(form);
    if (!isPaid && form.paid) missed.push(form);
  }
  return { forms, wrong, missed };
}

async function isFormPaid({ compare, gold, output }: Form): Promise<boolean> {
  const source = { taskField: 'answer', outputField: 'answer', agent: null, after: null };
  const judge = createAnswerJudge({ ...source, compare, tolerance: 0, ignoreCase: true });
  const task: Task = { taskId: 'form', mainQuery: 'How much?', initMessages: [], metadata: { answer: gold } };
  const { reward } = await judge.judge(task, {}, saying(output));
  return reward > 0;
}

function saying(content: string): JudgeContext {
  const messages = [
    { role: 'user', content: 'How much?' },
    { role: 'assistant', content },
  ] as const;
  const { signal } = new AbortController();
  return { episodeId: 'form', signal, seed: 1, transcripts: [{ agentName: 'solver', messages }], environment: null };
}
