import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRandom, deriveSeed } from '@agentjet/core';

/** A shop's answers to its customers, and its scores. The judge does not see the rule of the scores. */

export type Scored = { readonly question: string; readonly answer: string; readonly score: number };

const goods = ['lamp', 'chair', 'kettle', 'radio', 'carpet', 'mirror', 'blanket', 'clock'];
const greetings = ['Hello!', 'Thank you for your message.', 'Dear customer,', 'Hi there :)'];
const nextSteps = [
  'We send a new one on Monday.',
  'A driver fetches it tomorrow.',
  'You get your money back by Friday.',
  'We call you at noon.',
];
const phrases = [
  'We are very sorry to hear about this and understand how you must feel.',
  'Your satisfaction means everything to all of us here in the team.',
  'Please know that such things do happen from time to time with every shop.',
  'We would like to take the opportunity to thank you for your patience.',
];

/**
 * Scores an answer from 0 to 10: one for any answer, five for the order number, four for the next step, minus up to
 * three for empty phrases.
 */
export function hiddenScore(answer: string): number {
  const namesOrder = /order \d{4}/.test(answer);
  const saysNext = nextSteps.some((step) => answer.includes(step));
  const numPhrases = phrases.filter((phrase) => answer.includes(phrase)).length;
  return Math.max(0, 1 + (namesOrder ? 5 : 0) + (saysNext ? 4 : 0) - Math.min(3, numPhrases));
}

/** Returns the same answers for the same seed. */
export function drawAnswers(count: number, seed: number): readonly Scored[] {
  const random = createRandom(deriveSeed(seed, 'rubrics'));
  const pick = (items: readonly string[]): string => items[random.int(items.length)] ?? '';
  return Array.from({ length: count }, () => {
    const [item, order] = [pick(goods), 1000 + random.int(9000)];
    const parts = [
      random.next() < 0.5 ? pick(greetings) : '',
      random.next() < 0.5 ? `This is about order ${order}.` : 'This is about what you bought.',
      ...phrases.filter(() => random.next() < 0.35),
      random.next() < 0.5 ? pick(nextSteps) : '',
    ];
    const answer = parts.filter((part) => part !== '').join(' ');
    return { question: `The ${item} of order ${order} is broken. What now?`, answer, score: hiddenScore(answer) };
  });
}

/** Twenty answers to learn from, and a hundred others that only measure how well the rubrics follow the scores. */
export const files = {
  'scored.jsonl': drawAnswers(20, 1),
  'others.jsonl': drawAnswers(100, 2),
};

export function toLines(answers: readonly Scored[]): string {
  return answers
    .map(({ question, answer, score }) => `${JSON.stringify({ main_query: question, answer, score })}\n`)
    .join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const [name, answers] of Object.entries(files))
    await writeFile(path.join(import.meta.dirname, name), toLines(answers));
