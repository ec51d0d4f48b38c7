import type { Random, Task } from '@agentjet/core';
import { countQuestions, topicNames, topics } from '../ailments.js';
import { numQuestions } from '../consultation.js';
import { pick } from '../patients.js';

/**
 * Consultations with all kinds of doctors. The judge learns from them, so it has to see everything that a doctor may
 * say.
 */

export type Consultation = { readonly task: Task; readonly lines: readonly string[] };

const remarks = ['I see.', 'Thank you.', 'That is bad.', 'Take a rest.', 'Nothing new there.', 'I do not understand.'];

const ask = (random: Random): string => topics[pick(topicNames, random)].question;

/** Returns a line that asks nothing: a remark, a question without its mark, or silence. */
function remark(random: Random): string {
  const chance = random.next();
  if (chance < 0.4) return pick(remarks, random);
  return chance < 0.8 ? ask(random).replace('?', random.next() < 0.5 ? '.' : '') : '';
}

/** Returns the words of two questions in any order, with question marks anywhere. */
function stammer(random: Random): string {
  const words = `${ask(random)} ${ask(random)}`.replaceAll('?', '').split(' ');
  const said = Array.from({ length: 1 + random.int(8) }, () => pick(words, random));
  return said.map((word) => (random.next() < 0.25 ? `${word}?` : word)).join(' ');
}

/** Returns the doctor's message in one turn. Most messages have one question or two. */
function drawLine(random: Random): string {
  const chance = random.next();
  if (chance < 0.4) return ask(random);
  if (chance < 0.65) return `${ask(random)} ${ask(random)}`;
  if (chance < 0.72) return `${ask(random)} ${ask(random)} ${ask(random)}`;
  if (chance < 0.8) return `${remark(random)} ${ask(random)}`.trim();
  return chance < 0.9 ? remark(random) : stammer(random);
}

export function drawConsultation(task: Task, random: Random): Consultation {
  return { task, lines: Array.from({ length: numQuestions }, () => drawLine(random)) };
}

/** Counts by rule how many questions each line asks, and how many lines ask exactly one. */
export function gradeLines(lines: readonly string[]): { readonly counts: readonly number[]; readonly points: number } {
  const counts = lines.map(countQuestions);
  return { counts, points: counts.filter((count) => count === 1).length };
}
