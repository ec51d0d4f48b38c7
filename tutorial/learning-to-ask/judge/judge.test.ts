import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { readLabelledExamples } from '@agentjet/judges';
import { expect, it } from 'vitest';
import { drawTasks } from '../patients.js';
import { drawConsultation, gradeLines } from './draw-consultation.js';
import { drawCopy, drawHiddenCopy, toGrading, toVerdictLesson } from './lessons.js';

const [task] = drawTasks('training', { seed: 1, count: 1 });
if (task === undefined) throw new Error('A patient was asked for.');
const lines = ['Do you do sport? What is your work?', 'I see.', 'Do you have pets?'];

it('asks what the judge of a run asks, and answers by the rule', async () => {
  const { messages } = await toVerdictLesson({ task, lines });
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'user', 'assistant']);
  expect(messages[0]?.content).toContain('One point for each line with exactly one question.');
  expect(messages[2]?.content).toContain(JSON.stringify(lines.join('\n')));
  const verdict = JSON.parse(messages[3]?.content ?? '') as { readonly code: string };
  expect(verdict).toMatchObject({ reason: '2 0 1', score: 1 });
  expect(messages[0]?.content).toContain(`"code": "${verdict.code}"`);
});

it('shortens a question to what is to be learned of it', async () => {
  const lesson = await toVerdictLesson({ task, lines });
  const grading = toGrading(lesson).messages;
  expect(grading.map(({ role }) => role)).toEqual(['user', 'assistant']);
  expect(JSON.parse(grading[1]?.content ?? '')).toEqual({ reason: '2 0 1', score: 1 });
  const random = createRandom(1);
  for (const { messages } of [drawCopy(random), drawHiddenCopy(lesson, random), drawHiddenCopy(lesson, random)]) {
    const { code } = JSON.parse(messages.at(-1)?.content ?? '') as { readonly code: string };
    expect(code).toMatch(/^[0-9a-f]{12}$/);
    expect(messages[0]?.content).toContain(`"code": "${code}"`);
  }
});

it('draws consultations of all grades', () => {
  const random = createRandom(1);
  const drawn = Array.from({ length: 200 }, () => gradeLines(drawConsultation(task, random).lines).points);
  expect(new Set(drawn)).toEqual(new Set([0, 1, 2, 3]));
});

it('is tried on consultations that the rule has labelled', () => {
  const examples = readLabelledExamples(path.join(import.meta.dirname, 'labelled.jsonl'));
  expect(examples).toHaveLength(200);
  for (const { answer, score, isSuccess } of examples) {
    expect(gradeLines(answer.split('\n')).points).toBe(score);
    expect(isSuccess).toBe(score === 3);
  }
});
