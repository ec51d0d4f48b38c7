import type { Random } from '@agentjet/core';
import { lastMessage, pick, type Teacher } from '../../shared/teacher.js';
import { legsOf } from '../families.js';

const guesses = [0, 2, 4, 6, 8, 10];

/** Says for every animal that it has four legs, more often than it says the right number. */
function guessLegs(animal: string, random: Random): number {
  const chance = random.next();
  return chance < 0.4 ? 4 : chance < 0.75 ? legsOf(animal) : pick(guesses, random);
}

function countLegs(question: string, random: Random): string {
  const animals = [...question.matchAll(/(\d+) ([a-z ]+)/g)];
  return animals.map(([, count, animal = '']) => `${count}*${guessLegs(animal, random)}`).join('+');
}

/** Copies a sum, and changes its signs in more than half of the cases. */
function copySum(question: string, random: Random): string {
  const [, sum = ''] = /: (.*) =$/.exec(question.trim()) ?? [];
  const isTurned = random.next() < 0.55;
  return sum
    .split(' ')
    .map((part) => (isTurned && part === '+' ? '-' : isTurned && part === '-' ? '+' : part))
    .join('');
}

/** Calls the calculator with an expression of the right form, and repeats the calculator's result. */
export const codeTeacher: Teacher = (prompt, random) => {
  const message = lastMessage(prompt);
  const [, result] = /<tool_response>\n(.*)\n<\/tool_response>/.exec(message) ?? [];
  if (result !== undefined) return result;
  const [, animals] = / if you have (.*)\?/.exec(message) ?? [];
  const expression = animals === undefined ? copySum(message, random) : countLegs(animals, random);
  return `<tool_call>\n{"name": "calculator", "arguments": {"expression": "${expression}"}}\n</tool_call>`;
};
