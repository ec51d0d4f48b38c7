import type { JsonObject } from '@agentjet/core';
import type { EpisodeRow } from '@agentjet/run-folder';
import { expect, it } from 'vitest';
import { toEpisode } from './to-episode.js';

const row: EpisodeRow = {
  episode_id: 'e',
  step: 1,
  phase: 'train',
  offset: 0,
  length: 1,
  group_id: 'g',
  task_id: 't',
  repeat_index: 0,
  status: 'completed',
  is_scored: true,
  reward: 1,
  is_success: true,
  seconds: 1,
  generated_tokens: 1,
  trained_tokens: 1,
  calls: 1,
  calls_cut: 0,
  calls_malformed: 0,
  forks: {},
  splices: 0,
  agents: [],
};

const contentOf = (head: JsonObject): string | undefined =>
  toEpisode(row, head, { kindField: null, valPassN: 1 }).content;

it('tasks that differ only in their ids have equal contents', () => {
  const task = (id: string, number: number): JsonObject => ({
    task_id: id,
    main_query: 'Add.',
    task_metadata: { id, number },
  });
  expect(contentOf(task('a', 1))).toBe(contentOf(task('b', 1)));
  expect(contentOf(task('a', 1))).not.toBe(contentOf(task('b', 2)));
});

it('a task whose only metadata is its id is not a copy of another one', () => {
  const task = (id: string): JsonObject => ({ task_id: id, main_query: 'Play.', task_metadata: { level: id } });
  expect(contentOf(task('1'))).not.toBe(contentOf(task('2')));
});

it('the content of a task is unknown if its record left out long values', () => {
  const cut = `${'x'.repeat(400)} ... (9000 characters)`;
  expect(contentOf({ task_id: 'a', main_query: cut })).toBeUndefined();
  expect(contentOf({ task_id: 'a', main_query: 'q', task_metadata: { text: cut } })).toBeUndefined();
  expect(contentOf({ task_id: 'a', main_query: 'q', task_metadata: { text: 'x'.repeat(3600) } })).toBeUndefined();
  expect(contentOf({ task_id: 'a' })).toBeUndefined();
});

it('the right answer is unknown if several agents got a reward each', () => {
  const keys = { kindField: null, valPassN: 1 };
  const head = { answer: '72', task_metadata: { answer: 72 } };
  const expectedOf = (rewards: JsonObject) => toEpisode(row, { ...head, rewards }, keys).expected;
  expect(toEpisode(row, head, keys).expected).toBe('72');
  expect(expectedOf({ worker: 1 })).toBe('72');
  expect(expectedOf({ planner: 0, worker: 1 })).toBeUndefined();
});
