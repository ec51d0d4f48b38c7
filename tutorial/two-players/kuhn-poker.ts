import type { Random } from '@agentjet/core';

/**
 * Kuhn poker: three cards, two players, an ante of one chip each and one bet of one chip. These are the rules alone. The
 * player in seat 0 acts first.
 */

export const cards = ['J', 'Q', 'K'] as const;
export type Card = (typeof cards)[number];
export type Action = 'check' | 'bet' | 'call' | 'fold';
export type Seat = 0 | 1;
/** The cards by seat. */
export type Deal = readonly [Card, Card];

export const deals: readonly Deal[] = cards.flatMap((first) =>
  cards.filter((second) => second !== first).map((second) => [first, second] as const),
);

export function drawDeal(random: Random): Deal {
  return deals[random.int(deals.length)] ?? ['J', 'Q'];
}

/** Returns the actions that the next player may take; none if the game is over. */
export function legalActions(history: readonly Action[]): readonly Action[] {
  const last = history.at(-1);
  if (last === 'bet') return ['call', 'fold'];
  if (last === 'call' || last === 'fold' || history.length === 2) return [];
  return ['check', 'bet'];
}

export function nextSeat(history: readonly Action[]): Seat {
  return history.length % 2 === 0 ? 0 : 1;
}

/** Returns the chips that a seat wins, or loses if negative, in a game that is over. */
export function returnOf(seat: Seat, deal: Deal, history: readonly Action[]): number {
  const last = history.at(-1);
  if (last === 'fold') return nextSeat(history) === seat ? 1 : -1; // the player who would act next did not fold
  const isHigher = cards.indexOf(deal[seat]) > cards.indexOf(deal[seat === 0 ? 1 : 0]);
  return (last === 'call' ? 2 : 1) * (isHigher ? 1 : -1);
}
