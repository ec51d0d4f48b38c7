import { createRandom, deriveSeed, type Random, type Task } from '@agentjet/core';
import { pick } from '../shared/teacher.js';
import { isForEvaluation } from '#tutorial/math-agent/reasoning-gym/reasoning-gym.js';

/** Makes problems with the words of two families of reasoning-gym, so that the model can be made without Python. */

const animals: Readonly<Record<number, readonly string[]>> = {
  0: ['snake', 'sea slug', 'jellyfish', 'flatworm', 'leech'],
  2: ['chicken', 'bird', 'human', 'duck'],
  4: ['dog', 'cat', 'cow', 'horse', 'lion', 'elephant', 'giraffe', 'tiger', 'deer', 'sheep'],
  5: ['starfish'],
  6: ['insect', 'ant', 'butterfly', 'beetle', 'bee', 'wasp', 'grasshopper', 'cricket', 'cockroach', 'firefly'],
  8: ['spider', 'scorpion'],
  10: ['crab', 'lobster', 'shrimp'],
  14: ['woodlouse'],
};
const legs = new Map(
  Object.entries(animals).flatMap(([count, names]) => names.map((name) => [name, Number(count)] as const)),
);

/** Returns the legs of an animal in the singular or with an s, or 6 if it is not listed here. */
export function legsOf(animal: string): number {
  const name = animal.trim();
  return legs.get(name) ?? legs.get(name.replace(/s$/, '')) ?? 6;
}

type Problem = { readonly question: string; readonly answer: number };

function drawLegs(random: Random): Problem {
  const names = [...legs.keys()];
  const first = pick(names, random);
  const second = pick(
    names.filter((name) => name !== first),
    random,
  );
  const counted = [first, second].map((name) => ({ name, count: 1 + random.int(15) }));
  const list = counted.map(({ name, count }) => `${count} ${name}${count > 1 ? 's' : ''}`).join(', ');
  return {
    question: `Your task is to count how many legs there are in total when given a list of animals.\n\nNow, how many legs are there in total if you have ${list}?\n`,
    answer: counted.reduce((sum, { name, count }) => sum + count * legsOf(name), 0),
  };
}

function drawSum(random: Random): Problem {
  const numTerms = 2 + random.int(3);
  const terms = Array.from({ length: numTerms }, () => 1 + random.int(random.next() < 0.3 ? 9 : 99));
  const signs = terms.map(() => (random.next() < 0.5 ? '+' : '-'));
  const expression = terms.map((term, at) => (at === 0 ? String(term) : `${signs[at]} ${term}`)).join(' ');
  return {
    question: `State the final answer to the following arithmetic problem: ${expression} =`,
    answer: terms.reduce((sum, term, at) => (at === 0 || signs[at] === '+' ? sum + term : sum - term), 0),
  };
}

/** Draws tasks on which the tutorial does not evaluate. */
export function drawTasks({ seed, count }: { readonly seed: number; readonly count: number }): readonly Task[] {
  const random = createRandom(deriveSeed(seed, 'families'));
  const tasks: Task[] = [];
  while (tasks.length < count) {
    const { question, answer } = random.next() < 0.6 ? drawLegs(random) : drawSum(random);
    if (isForEvaluation(question)) continue;
    tasks.push({
      taskId: `family-${seed}-${tasks.length}`,
      mainQuery: question,
      initMessages: [],
      metadata: { answer },
    });
  }
  return tasks;
}
