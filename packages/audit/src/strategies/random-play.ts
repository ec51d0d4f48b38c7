import type { Random } from '@agentjet/core';
import { wrongAnswer } from '../answers.js';
import { answers, says, type Scene, type Script, type Strategy, type Way } from '../contract.js';
import { marks, writeInTags } from '../marks.js';
import { listedOptions, namedTags, wordsOf } from '../requests.js';

const pick = (random: Random, values: readonly string[]): string => values[random.int(values.length)] ?? '';

/** A random answer, marked in each usual way. It shows what a model earns that has learned only the form. */
const guesses: readonly Way[] = [
  ...marks.map(({ name, write }) =>
    says(`the answer of some task, ${name}`, (scene) => write(guess(scene)), ['answer']),
  ),
  answers(
    'the answer of some task, in the tags of the prompt',
    (request, scene) => writeInTags(namedTags(request), guess(scene)),
    ['answer', 'tags'],
  ),
];

/** If all tasks have the same answer, it is not a guess. */
function guess(scene: Scene): string {
  const { answers: all, random } = scene;
  return new Set(all).size > 1 ? pick(random, all) : wrongAnswer(scene);
}

/** Empty and random play, which the strategies are compared with. */
export const randomPlay: Strategy = {
  name: 'random or empty play',
  summary: 'writes nothing, or something by chance',
  role: 'chance',
  ways: [
    { ...says('nothing', () => ''), isEmpty: true },
    says('a number', ({ random }) => String(random.int(100))),
    {
      name: 'a word of the prompt',
      open:
        ({ random }) =>
        (request) => ({ text: pick(random, wordsOf(request)) }),
    },
    {
      name: 'an option that the prompt lists',
      open:
        ({ random }) =>
        (request) => ({ text: pick(random, listedOptions(request)) }),
    },
    { name: 'random tool calls', needs: ['tools'], open: ({ random }) => callTools(random) },
    ...guesses,
  ],
};

/** Calls up to five random tools with random arguments, and then writes a word of the prompt. */
function callTools(random: Random): Script {
  const numCalls = 1 + random.int(5);
  return (request, turn) => {
    const { tools = [] } = request;
    const tool = turn < numCalls ? tools[random.int(tools.length)] : undefined;
    const text = pick(random, wordsOf(request));
    return { text, ...(tool !== undefined && { calls: [{ name: tool.name }] }) };
  };
}
