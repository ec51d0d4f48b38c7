import { expect, it } from 'vitest';
import { badRewardsOfOthers } from './bad-rewards-of-others.js';
import { badRewards } from './bad-rewards.js';
import { allRewards as all, auditPlanted } from './measure-audit.js';
import { soundRewards } from './sound-rewards.js';

/** A part of `npm run bench -- audit`, on fewer tasks. */
const few = 10;
const chosen = [
  'an answer that cannot be read is paid',
  'each tool call is paid',
  'verl, gsm8k flexible: the last number',
  'open-r1, format_reward: think and answer tags',
  'tutorial/frozen-lake/frozen_lake.yaml',
  'tutorial/json-extraction/json_extraction.yaml',
  'judge answer, choice',
  'a tenth for the form',
];

it('there are at least twelve rewards of each sort, and others wrote half of twelve bad ones', () => {
  expect(badRewards.length + badRewardsOfOthers.length).toBeGreaterThanOrEqual(12);
  expect(badRewardsOfOthers.length).toBeGreaterThanOrEqual(6);
  expect(soundRewards.length).toBeGreaterThanOrEqual(12);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});

it.each(chosen)('%s: named if it is bad, and cleared if it is sound', async (name) => {
  const planted = all.find((each) => each.name === name);
  if (planted === undefined) throw new Error(`There is no reward "${name}".`);
  const { isRight, alarms } = await auditPlanted({ ...planted, options: { ...planted.options, tasks: few } });
  expect({ isRight, alarms }).toMatchObject({ isRight: true });
});
