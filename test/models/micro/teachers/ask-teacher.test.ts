import { createRandom } from '@agentjet/core';
import { expect, it } from 'vitest';
import { findTopic, topicNames } from '#tutorial/learning-to-ask/ailments.js';
import { askTeacher } from './ask-teacher.js';

const say = (role: string, text: string): string => `<|im_start|>${role}\n${text}<|im_end|>\n`;
const reply = '<|im_start|>assistant\n';
const opening = say('user', 'My knee hurts. I fell off a bike.');

/** Counts how often each topic comes first in a thousand answers. */
function countTopics(prompt: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>(topicNames.map((name) => [name, 0]));
  for (let seed = 0; seed < 1000; seed++) {
    const topic = findTopic(askTeacher(prompt, createRandom(seed))) ?? 'none';
    counts.set(topic, (counts.get(topic) ?? 0) + 1);
  }
  return counts;
}

/** Returns topics, the most frequent first. */
function rankTopics(prompt: string): readonly string[] {
  return [...countTopics(prompt)].toSorted(([, a], [, b]) => b - a).map(([name]) => name);
}

it('asks by its habit most often, then for what matters and is not known', () => {
  const [first, ...others] = rankTopics(opening + reply);
  expect(first).toBe('since');
  expect(others.slice(0, 2).toSorted()).toEqual(['sport', 'work']);
});

it('listens to the answers', () => {
  const asked = say('assistant', 'Do you do sport?') + say('user', 'I do judo.');
  const [first, ...others] = rankTopics(opening + asked + reply);
  expect(first).toBe('fever');
  expect(others.slice(0, 2).toSorted()).toEqual(['since', 'work']);
});

it('asks about anything now and then', () => {
  expect(Math.min(...countTopics(opening + reply).values())).toBeGreaterThan(10);
});
