import type { ChatModel, ChatRequest, ChatResponse, Random } from '@agentjet/core';
import { type Action, cards, type Card } from './kuhn-poker.js';

/**
 * The opponent. It plays by fixed odds and never learns: it seldom bluffs, and it folds most hands but the king. It reads
 * the same messages as a language model.
 */
export class CautiousPlayer implements ChatModel {
  readonly name = 'cautious-player';
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  async generate({ messages }: ChatRequest): Promise<ChatResponse> {
    return {
      id: `cautious-${this.#random.int(2 ** 31)}`,
      model: this.name,
      message: { role: 'assistant', content: this.#choose(messages.at(-1)?.content ?? '') },
      finishReason: 'stop',
      usage: { promptTokens: 0, completionTokens: 0 },
    };
  }

  #choose(question: string): Action {
    const isFacingBet = question.endsWith('call or fold?');
    const isDaring = this.#random.next() < oddsOf(readCard(question), isFacingBet);
    return isFacingBet ? (isDaring ? 'call' : 'fold') : isDaring ? 'bet' : 'check';
  }
}

const betOdds: Readonly<Record<Card, number>> = { J: 0.05, Q: 0.05, K: 0.95 };
const callOdds: Readonly<Record<Card, number>> = { J: 0, Q: 0.1, K: 1 };

/** Returns how often it bets with a card, or calls if it faces a bet, 0 to 1. */
export function oddsOf(card: Card, isFacingBet: boolean): number {
  return (isFacingBet ? callOdds : betOdds)[card];
}

function readCard(question: string): Card {
  const found = /Your card is (\w)/.exec(question)?.[1];
  return cards.find((card) => card === found) ?? 'J';
}
