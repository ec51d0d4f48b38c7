import { expect, it } from 'vitest';
import { judgeAllForms, judgeForms, measureAnswers } from './answers.js';

it('pays no wrong answer, and misses at most two right ones of a hundred', async () => {
  const { forms, wrong, missed } = await judgeAllForms();
  expect(wrong).toEqual([]);
  const share = missed.length / forms.filter(({ paid }) => paid).length;
  expect(share, JSON.stringify(missed)).toBeLessThanOrEqual(0.02);
});

it('has enough forms, half of them by authors who had not read the judge', async () => {
  const { forms } = await judgeAllForms();
  const blind = forms.filter(({ author }) => ['b', 'c', 'e', 'f'].includes(author)).length;
  expect(forms.length).toBeGreaterThanOrEqual(300);
  expect(blind / forms.length).toBeGreaterThanOrEqual(0.5);
  expect(new Set(forms.map(({ compare }) => compare)).size).toBe(5);
  expect((await measureAnswers()).forms).toBe(forms.length);
});

it('reads forms that were tried later, and that found mistakes', async () => {
  const { wrong, missed } = await judgeForms('later-answers.jsonl');
  expect([wrong, missed]).toEqual([[], []]);
});

it.each([
  { name: 'answers.jsonl', forms: 1338, paid: 654, missable: 1 },
  { name: 'blind-answers.jsonl', forms: 651, paid: 411, missable: 10 },
  { name: 'style-answers.jsonl', forms: 540, paid: 372, missable: 0 },
  { name: 'second-blind-answers.jsonl', forms: 699, paid: 414, missable: 1 },
  { name: 'third-blind-answers.jsonl', forms: 409, paid: 243, missable: 0 },
])('misses at most $missable of the $paid right answers in $name', async ({ name, missable, ...counts }) => {
  const { forms, wrong, missed } = await judgeForms(name);
  expect({ forms: forms.length, paid: forms.filter(({ paid }) => paid).length }).toEqual({
    forms: counts.forms,
    paid: counts.paid,
  });
  expect(wrong).toEqual([]);
  expect(missed.length, JSON.stringify(missed)).toBeLessThanOrEqual(missable);
});
