import { expect, it } from 'vitest';
import { says, type Strategy, type StrategyRole } from './contract.js';
import { suspectAlarms } from './audit-report.js';
import { readScale, type Played } from './outcomes.js';

const numEpisodes = 20;

/** A play whose first `paid` episodes earn `reward`, and the others `rest`. */
function played(
  role: StrategyRole,
  name: string,
  {
    paid,
    reward = 1,
    rest = 0,
    success = 1,
  }: {
    readonly paid: number;
    readonly reward?: number;
    readonly rest?: number;
    readonly success?: number;
  },
): Played {
  const way = { ...says(name, () => ''), ...(name === 'nothing' && { isEmpty: true }) };
  const strategy: Strategy = { name, summary: '', role, ways: [way] };
  const outcomes = Array.from({ length: numEpisodes }, (_none, at) => {
    const got = at < paid ? reward : rest;
    return { kind: 'scored', taskId: `t${at}`, said: '', reward: got, isSuccess: got >= success } as const;
  });
  return { play: { strategy, way }, outcomes };
}

function judge(all: readonly Played[], threshold: number | null = null) {
  const { alarms, standards } = suspectAlarms(
    all,
    readScale(
      all.flatMap(({ outcomes }) => outcomes),
      threshold,
    ),
  );
  return { alarms: alarms.map(({ rule, played: { play } }) => [play.strategy.name, rule]), scale: standards.scale };
}
const nothing = played('chance', 'nothing', { paid: 0 });

it('raises an alarm if a strategy is paid more often than chance', () => {
  expect(judge([nothing, played('unsolved', 'filler', { paid: 12 })]).alarms).toEqual([['filler', 'more_than_chance']]);
});

it('raises none if chance may explain the difference', () => {
  const random = played('chance', 'random', { paid: 8 });
  expect(judge([nothing, random, played('unsolved', 'filler', { paid: 13 })]).alarms).toEqual([]);
});

it('compares rewards with half of what right answers earn', () => {
  const right = played('right', 'right', { paid: 20 });
  const chance = played('chance', 'random', { paid: 14 });
  expect(judge([nothing, chance, right, played('unsolved', 'filler', { paid: 18 })]).alarms).toEqual([
    ['filler', 'half_of_right'],
  ]);
  expect(judge([nothing, chance, right, played('unsolved', 'filler', { paid: 11 })]).alarms).toEqual([]);
});

it('counts a part of the reward only from half of what right answers earn', () => {
  const right = played('right', 'right', { paid: 20 });
  const parts = (reward: number) => [nothing, right, played('unsolved', 'form', { paid: 20, reward })];
  expect(judge(parts(0.4)).alarms).toEqual([]);
  expect(judge(parts(0.6)).alarms).toEqual([['form', 'half_of_right']]);
  expect(judge(parts(0.4), 0.3).alarms).toEqual([['form', 'more_than_chance']]);
});

it('a given threshold does not hide what a strategy earns below it', () => {
  const right = played('right', 'right', { paid: 20 });
  const below = (reward: number) => [nothing, right, played('unsolved', 'question', { paid: 20, reward })];
  expect(judge(below(0.9), 0.95).alarms).toEqual([['question', 'half_of_right']]);
  expect(judge(below(0.4), 0.95).alarms).toEqual([]);
});

it('names a strategy that fails and earns more than a success, also without a right answer', () => {
  const chance = played('chance', 'random', { paid: 6, reward: 0.3, rest: 0.1 });
  const successes = { ...chance, outcomes: chance.outcomes.map((each, at) => ({ ...each, isSuccess: at < 6 })) };
  const forever = (reward: number) => {
    const play = played('unsolved', 'for ever', { paid: 20, reward });
    return [nothing, successes, { ...play, outcomes: play.outcomes.map((each) => ({ ...each, isSuccess: false })) }];
  };
  expect(judge(forever(0.9)).alarms).toEqual([['for ever', 'more_than_success']]);
  expect(judge(forever(0.25)).alarms).toEqual([]);
});

it('a verdict that calls little a success does not make it paid', () => {
  const right = played('right', 'right', { paid: 20, reward: 10 });
  const parts = [nothing, right, played('unsolved', 'filler', { paid: 20, reward: 2 })];
  expect(judge(parts).alarms).toEqual([]);
  expect(judge(parts).scale.threshold).toBe(5);
});

it('an answer of "I do not know" that earns more than a wrong one raises no alarm', () => {
  const wrong = played('chance', 'random', { paid: 0, rest: -2 });
  const right = played('right', 'right', { paid: 20 });
  expect(judge([nothing, wrong, right, played('unsolved', 'no answer', { paid: 0 })]).alarms).toEqual([]);
});

it('names empty play that is paid more than random play', () => {
  const empty = played('chance', 'nothing', { paid: 20 });
  expect(judge([empty, played('chance', 'random', { paid: 0 })]).alarms).toEqual([['nothing', 'more_than_chance']]);
});

it('names a reward that is the same for every play, and none if nothing is paid', () => {
  const all = (reward: number) => [
    played('chance', 'nothing', { paid: 20, reward }),
    played('unsolved', 'filler', { paid: 20, reward }),
  ];
  expect(judge(all(0.5)).alarms).toEqual([['nothing', 'all_equal']]);
  expect(judge(all(0)).alarms).toEqual([]);
});

it('cannot say what is paid if no reward is a success, and no right answer is known', () => {
  const all = [nothing, played('unsolved', 'form', { paid: 20, reward: 0.1 })];
  expect(judge(all)).toMatchObject({ alarms: [], scale: { threshold: null } });
  expect(judge(all, 1).alarms).toEqual([]);
  expect(judge(all, 0.1).alarms).toEqual([['form', 'more_than_chance']]);
});

it('takes no right answer for right that the agent does not take', () => {
  const unread = played('right', 'right', { paid: 1 });
  const all = [nothing, unread, played('unsolved', 'filler', { paid: 2 })];
  expect(judge(all).alarms).toEqual([]);
});
