import { expect, it } from 'vitest';
import { judgeForms } from './answers.js';

it('pays no wrong answer, and misses at most two right ones of a hundred', async () => {
  const { forms, wrong, missed } = await judgeForms();
  expect(wrong).toEqual([]);
  const share = missed.length / forms.filter(({ paid }) => paid).length;
  expect(share, JSON.stringify(missed)).toBeLessThanOrEqual(0.02);
});

it('has enough forms, half of them by an author who had not read the judge', async () => {
  const { forms } = await judgeForms();
  const blind = forms.filter(({ author }) => author === 'b').length;
  expect(forms.length).toBeGreaterThanOrEqual(300);
  expect(blind).toBeGreaterThanOrEqual(300);
  expect(new Set(forms.map(({ compare }) => compare)).size).toBe(5);
});

it('reads forms that were tried later, and that found mistakes', async () => {
  const { wrong, missed } = await judgeForms('later-answers.jsonl');
  expect([wrong, missed]).toEqual([[], []]);
});

it('pays no wrong form of author c, who knew only the page, and misses at most 45 of 411 right ones', async () => {
  const { forms, wrong, missed } = await judgeForms('blind-answers.jsonl');
  expect([forms.length, forms.filter(({ paid }) => paid).length]).toEqual([651, 411]);
  expect(wrong).toEqual([]);
  expect(missed.length).toBeLessThanOrEqual(45);
});
