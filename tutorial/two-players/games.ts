import { createRandom, deriveSeed } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import { deals, type Deal, type Seat } from './kuhn-poker.js';

/** A game as a task: the cards, the seat of the player who learns, and the luck of the opponent. */
export type Game = { readonly deal: Deal; readonly seat: Seat; readonly luck: number };

const seats: readonly Seat[] = [0, 1];

/** Every deal in both seats, in equal numbers, each with other luck. No luck of evaluation is used in training. */
export function createGames(split: 'training' | 'evaluation', rounds: number): readonly Task[] {
  const random = createRandom(deriveSeed(1, 'games', split));
  return Array.from({ length: rounds }, (_, round) =>
    deals.flatMap((deal) =>
      seats.map((seat) => {
        const game: Game = { deal, seat, luck: 2 * random.int(2 ** 30) + (split === 'training' ? 0 : 1) };
        return {
          taskId: `${split}-${deal.join('')}-${seat}-${round}`,
          mainQuery: 'Win chips.',
          initMessages: [],
          metadata: game,
        };
      }),
    ),
  ).flat();
}

/** two_players.yaml names this reader. */
export const pokerGames: TaskReader = {
  async *trainingTasks() {
    yield* createGames('training', 64);
  },
  async *evaluationTasks() {
    yield* createGames('evaluation', 50);
  },
};
