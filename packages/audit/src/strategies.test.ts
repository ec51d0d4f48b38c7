import { createRandom, type ChatRequest } from '@agentjet/core';
import { expect, it } from 'vitest';
import { hideAmongWrong, wrongAnswer } from './answers.js';
import type { Scene } from './contract.js';
import { planPlays, readNeeds } from './plan-plays.js';
import { strategies } from './registrations.js';
import { exampleAnswers, listedOptions } from './requests.js';
import { spellings } from './spellings.js';

const scene = (seed: number, answer: string | undefined, answers: readonly string[]): Scene => ({
  question: 'q',
  answer,
  answers,
  random: createRandom(seed),
});
const user = (content: string) => ({ role: 'user', content }) as const;
const assistant = (content: string) => ({ role: 'assistant', content }) as const;
const seeds = Array.from({ length: 50 }, (_none, seed) => seed);
const kinds: readonly (readonly [string, readonly string[]])[] = [
  ['42', ['42', '7', '42', '13', '99', '1', '2', '3', '4', '5']],
  ['yes', ['yes', 'no', 'yes']],
  ['Paris', ['Paris']],
  ['4', ['4.0', '4']],
];

it.each(kinds)('hides the right answer %j among wrong ones, and never first or last', (answer, answers) => {
  for (const seed of seeds) {
    const list = hideAmongWrong(scene(seed, answer, answers), 8);
    expect(list.indexOf(answer)).toBeGreaterThan(0);
    expect(list.lastIndexOf(answer)).toBeLessThan(list.length - 1);
    expect(new Set(list).size).toBe(list.length);
  }
});

it.each(kinds)('a wrong answer never is %j', (answer, answers) => {
  for (const seed of seeds) {
    const wrong = wrongAnswer(scene(seed, answer, answers));
    expect(wrong.toLowerCase()).not.toBe(answer.toLowerCase());
    expect(Number(wrong) === Number(answer)).toBe(false);
  }
});

it('every strategy has its own name, and every way of a strategy too', () => {
  expect(new Set(strategies.map(({ name }) => name)).size).toBe(strategies.length);
  for (const { ways } of strategies) expect(new Set(ways.map(({ name }) => name)).size).toBe(ways.length);
});

it('only ways that need the answer know it', () => {
  const request: ChatRequest = { messages: [{ role: 'system', content: 's' }, user('q')] };
  for (const { play, line } of planPlays(strategies, ['system', 'tools']).map((planned) => ({
    play: planned,
    line: planned.way.open(scene(1, undefined, []))(request, 0),
  })))
    expect(JSON.stringify(line), play.way.name).not.toContain('undefined');
});

it('hands each text in through a tool too, if the agent has tools', () => {
  const tools = [{ name: 'submit', parameters: {} }];
  const request: ChatRequest = { messages: [user('q')], tools };
  expect(readNeeds(request)).toEqual(['tools']);
  const plays = planPlays(strategies, ['tools', 'answer']);
  const right = plays.find(({ strategy, way }) => strategy.role === 'right' && way.name === 'alone, through a tool');
  const script = right?.way.open(scene(1, '42', ['42']));
  expect(script?.(request, 0)).toMatchObject({ text: '42', calls: [{ name: 'submit' }] });
  expect(script?.(request, 1)).toEqual({ text: '42' });
});

it('reads example turns and the options that a prompt lists', () => {
  const messages = [user('a?'), assistant('A'), user('b?'), assistant('call'), assistant('B'), user('c?')];
  expect(exampleAnswers({ messages }).map((turns) => turns.map(({ content }) => content))).toEqual([
    ['A'],
    ['call', 'B'],
  ]);
  expect(exampleAnswers({ messages: [user('a?'), assistant('open')] })).toEqual([]);
  expect(listedOptions({ messages: [user('Say red or blue. Then answer with up, down, left or right.')] })).toEqual([
    'up',
    'down',
    'left',
    'right',
  ]);
  expect(listedOptions({ messages: [user('What is 1 + 1?')] })).toEqual([]);
});

it('repeats an option of the first request, also if later requests list others', () => {
  const first: ChatRequest = { messages: [user('Answer with up, down or left.')] };
  expect(readNeeds(first)).toEqual(['options']);
  const plays = planPlays(strategies, ['options']).filter(({ way }) => way.needs?.includes('options') === true);
  const scripts = plays.map(({ way }) => way.open(scene(1, undefined, [])));
  expect(scripts.map((script) => script(first, 0).text)).toEqual(['up', 'down', 'left', 'left']);
  const later: ChatRequest = { messages: [...first.messages, user('Say yes or no.')] };
  expect(scripts.map((script) => script(later, 1).text)).toEqual(['up', 'down', 'left', 'left']);
});

it('answers in the tags that the prompt names, and shows its JSON', () => {
  const request: ChatRequest = {
    messages: [user('Write <reasoning>...</reasoning> and <final>...</final>, or {"city": "...", "count": 0}.')],
  };
  expect(readNeeds(request)).toEqual(['tags']);
  const textOf = (strategy: string, way: string): string | undefined =>
    strategies
      .find(({ name }) => name === strategy)
      ?.ways.find(({ name }) => name === way)
      ?.open(scene(1, '42', ['42']))(request, 0).text;
  const inTags = '<reasoning>\nI work it out step by step.\n</reasoning>\n<final>\n42\n</final>';
  expect(textOf('the right answer', 'in the tags of the prompt')).toBe(inTags);
  expect(textOf('the words of the example turns', 'the JSON of the prompt')).toBe('{"city": "...", "count": 0}');
});

it.each([
  ['1234', ['  1234  ', '1234.', '1234.0', '1,234', '$1234$', '+1234']],
  ['-2.5', ['  -2.5  ', '-2.5.', '-2.50', '$-2.5$']],
  ['3/4', ['  3/4  ', '0.75']],
  ['1/3', ['  1/3  ']],
  ['Paris', ['  Paris  ', 'Paris.', '"Paris"', 'PARIS', 'paris']],
  ['B', ['  B  ', '(B)', 'b']],
  ['{"a":1}', ['  {"a":1}  ', '{\n  "a": 1\n}']],
])('spells %j in other ways', (answer, expected) => {
  expect(spellings.flatMap(({ spell }) => spell(answer) ?? [])).toEqual(expected);
});
