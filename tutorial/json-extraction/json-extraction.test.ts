import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { drawTasks, type Order, splitOf } from './orders.js';
import { extractOrder, scoreOrder } from './workflow.js';

const order: Order = { name: 'Alma', city: 'Oslo', item: 'mugs', count: 7 };
const task = { taskId: 'a', mainQuery: 'Alma from Oslo wants seven mugs.', initMessages: [], metadata: { order } };

const answer = async (reply: string) => extractOrder(task, openScriptedEpisode({ replies: [reply] }).tuner);

it.each([
  ['the right order', order, 1],
  ['a number in words', { ...order, count: 'seven' }, 0.75],
  ['a field too many', { ...order, colour: 'red' }, 0.8],
  ['a missing field', { name: 'Alma', city: 'Oslo', item: 'mugs' }, 0.75],
  ['a list', [order], 0],
])('scores %s', async (_what, found, score) => {
  expect(scoreOrder(found, order)).toBe(score);
  expect(await answer(JSON.stringify(found))).toMatchObject({ reward: score, isSuccess: score === 1 });
});

it('gives nothing for an answer that is not JSON alone', async () => {
  expect(await answer(`Here it is: ${JSON.stringify(order)}`)).toMatchObject({ reward: 0, isSuccess: false });
});

it('puts every message on one side, with its order', () => {
  const held = drawTasks('evaluation', { seed: 1, count: 100 });
  const trained = drawTasks('training', { seed: 1, count: 1024 });
  expect(new Set([...held, ...trained].map(({ mainQuery }) => mainQuery)).size).toBe(1124);
  expect(held.every(({ mainQuery }) => splitOf(mainQuery) === 'evaluation')).toBe(true);
  for (const { mainQuery, metadata } of held) {
    const { name, city, item } = metadata['order'] as Order;
    for (const word of [name, city, item]) expect(mainQuery).toContain(word);
  }
});
