import type { Examination, Finding } from '@agentjet/diagnose';
import { expect, it } from 'vitest';
import { describeExamination, summarizeFindings } from './doctor-lines.js';

const finding: Finding = {
  cause: 'cut_answers',
  asks: 'change',
  summary: '40% of the answers since step 16 were cut.',
  cure: 'Raise the limit.',
  threshold: '5% of the answers',
  episodes: ['e1-a-r0', 'e1-b-r1'],
  taken: 0.4,
};

const examination: Examination = { source: 'run folder', steps: 20, findings: [finding], unseen: [] };

it('shows each finding with what helps, the limit and the command that shows an episode', () => {
  expect(describeExamination(examination, 'runs/my run')).toEqual([
    'runs/my run: 1 finding (20 steps)',
    '',
    '1. cut_answers: 40% of the answers since step 16 were cut.',
    '   what helps: Raise the limit.',
    '   limit: 5% of the answers',
    "   look at: ajet inspect 'runs/my run' e1-a-r0, and e1-b-r1",
  ]);
});

it('says what metrics alone could not show', () => {
  const unseen = [
    { cause: 'failed_episodes', needs: ['episodes'] },
    { cause: 'stragglers', needs: ['episodes'] },
    { cause: 'kl_drift', needs: ['kl'] },
  ];
  expect(describeExamination({ ...examination, source: 'verl', findings: [], unseen }, 'log.jsonl')).toEqual([
    'log.jsonl: no findings (20 steps, the metrics of verl alone)',
    '',
    'not looked at, because the records have no episodes: failed_episodes, stragglers',
    'not looked at, because the records have no kl: kl_drift',
  ]);
});

it('ends a run with a line for each finding and the command that explains them, or with nothing', () => {
  expect(summarizeFindings([finding], 'runs/1')).toEqual([
    'found  cut_answers: 40% of the answers since step 16 were cut.',
    'why    ajet doctor runs/1',
  ]);
  expect(summarizeFindings([], 'runs/1')).toEqual([]);
});
