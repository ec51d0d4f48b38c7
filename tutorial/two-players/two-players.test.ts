import type { Task } from '@agentjet/core';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import { oddsOf } from './cautious-player.js';
import { createGames, type Game } from './games.js';
import {
  type Action,
  type Card,
  cards,
  type Deal,
  deals,
  legalActions,
  nextSeat,
  returnOf,
  type Seat,
} from './kuhn-poker.js';
import { PokerWorkflow } from './poker-workflow.js';

describe('the rules', () => {
  it.each([
    [['check', 'check'], -1],
    [['check', 'bet', 'fold'], -1],
    [['check', 'bet', 'call'], -2],
    [['bet', 'fold'], 1],
    [['bet', 'call'], -2],
  ] as const)('pay the first player with the lower card after %j: %d', (history, won) => {
    expect(legalActions(history)).toEqual([]);
    expect(returnOf(0, ['J', 'Q'], history)).toBe(won);
    expect(returnOf(1, ['J', 'Q'], history)).toBe(-won);
  });

  it('let a player who faces a bet call or fold', () => {
    expect(legalActions([])).toEqual(['check', 'bet']);
    expect(legalActions(['check'])).toEqual(['check', 'bet']);
    expect(legalActions(['bet'])).toEqual(['call', 'fold']);
    expect(legalActions(['check', 'bet'])).toEqual(['call', 'fold']);
  });
});

/** A policy chooses by what a player knows: its own card and the actions so far. */
type Policy = (card: Card, history: readonly Action[]) => Action;

/** Returns the mean return of a policy in one seat of one deal against the cautious player. */
function valueOf(policy: Policy, seat: Seat, deal: Deal, history: readonly Action[] = []): number {
  const legal = legalActions(history);
  if (legal.length === 0) return returnOf(seat, deal, history);
  const then = (action: Action): number => valueOf(policy, seat, deal, [...history, action]);
  if (nextSeat(history) === seat) return then(policy(deal[seat], history));
  const isFacingBet = legal.includes('call');
  const odds = oddsOf(deal[seat === 0 ? 1 : 0], isFacingBet);
  return odds * then(isFacingBet ? 'call' : 'bet') + (1 - odds) * then(isFacingBet ? 'fold' : 'check');
}

const meanOf = (policy: Policy): number =>
  deals.flatMap((deal) => [valueOf(policy, 0, deal), valueOf(policy, 1, deal)]).reduce((sum, value) => sum + value, 0) /
  (2 * deals.length);

/** Everything that a player can know when it acts. */
const situations = cards.flatMap((card) =>
  [[], ['bet'], ['check'], ['check', 'bet']].map((history) => ({ card, history: history as readonly Action[] })),
);

/**
 * Returns the mean return of the best policy. Changing one action at a time finds this policy, because each situation
 * occurs at most once in a game.
 */
function bestMean(): number {
  const key = (card: Card, history: readonly Action[]): string => `${card} ${history.join(' ')}`;
  const chosen = new Map<string, Action>();
  const policy: Policy = (card, history) => chosen.get(key(card, history)) ?? legalActions(history)[0] ?? 'check';
  for (const _round of [1, 2, 3])
    for (const { card, history } of situations) {
      const values = legalActions(history).map((action) => {
        chosen.set(key(card, history), action);
        return { action, value: meanOf(policy) };
      });
      const best = values.toSorted((a, b) => b.value - a.value)[0];
      if (best !== undefined) chosen.set(key(card, history), best.action);
    }
  return meanOf(policy);
}

it('against the cautious player, the best play wins chips, and play without a plan does not', () => {
  const always = (open: Action, answer: Action): number =>
    meanOf((_card, history) => (legalActions(history).includes('call') ? answer : open));
  expect(bestMean()).toBeCloseTo(0.197, 3);
  expect(always('bet', 'fold')).toBeGreaterThan(0);
  expect(always('check', 'fold')).toBeLessThan(-0.05);
  expect(always('check', 'call')).toBeLessThan(-0.2);
});

it('plays every deal in both seats equally often, and never the luck of an evaluation in training', () => {
  const gamesOf = (split: 'training' | 'evaluation') => createGames(split, 50).map(({ metadata }) => metadata as Game);
  const evaluation = gamesOf('evaluation');
  expect(evaluation).toHaveLength(600);
  for (const deal of deals)
    for (const seat of [0, 1])
      expect(evaluation.filter((game) => game.seat === seat && game.deal.join() === deal.join())).toHaveLength(50);
  const lucks = new Set(evaluation.map(({ luck }) => luck));
  expect(gamesOf('training').some(({ luck }) => lucks.has(luck))).toBe(false);
});

describe('a game', () => {
  const gameOf = (game: Game): Task => ({ taskId: 'a', mainQuery: '', initMessages: [], metadata: game });

  async function play(game: Game, ...replies: readonly string[]) {
    const { tuner, engine, finish } = openScriptedEpisode({ replies, trainableTargets: ['learner'] });
    const output = await new PokerWorkflow().execute(gameOf(game), tuner);
    return { output, engine, turns: finish().turns };
  }

  it('asks the model of the learner alone, and pays what the cards pay', async () => {
    const { output, engine, turns } = await play({ deal: ['K', 'J'], seat: 0, luck: 1 }, 'bet');
    expect(output).toMatchObject({ reward: 1, isSuccess: true, metadata: { history: 'bet fold' } });
    expect(engine.requests).toHaveLength(1);
    expect(engine.requests[0]?.text).toContain('Your card is K. You act first. Do you check or bet?');
    expect(turns.map(({ targetTag }) => targetTag)).toEqual(['learner']);
  });

  it('lets the second player see what the first one did', async () => {
    const { output, engine } = await play({ deal: ['J', 'Q'], seat: 1, luck: 5 }, 'check');
    expect(engine.requests[0]?.text).toMatch(/Your card is Q\. Your opponent checks\. Do you check or bet\?[^?]*$/);
    expect(output.reward).toBe(1);
  });

  it.each(['raise', 'call', 'I check.', ''])('costs two chips if the answer to an open pot is %j', async (reply) => {
    const { output } = await play({ deal: ['K', 'J'], seat: 0, luck: 1 }, reply);
    expect(output).toMatchObject({ reward: -2, isSuccess: false, logMetrics: { illegal: 1 } });
  });
});
