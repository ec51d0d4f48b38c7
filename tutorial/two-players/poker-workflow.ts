import { createRandom } from '@agentjet/core';
import { asModel, InMemoryMemory, ReActAgent } from '@agentjet/react';
import { type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { CautiousPlayer } from './cautious-player.js';
import type { Game } from './games.js';
import { type Action, type Card, legalActions, nextSeat, returnOf, type Seat } from './kuhn-poker.js';

const rules =
  'You play poker with three cards: J is the lowest, Q the middle, K the highest. Each player has one chip in the pot. A bet adds one chip. The higher card wins, unless a player folds. Answer with one word.';

/** The chips that an answer without a legal action costs: the most that a game can cost. */
const illegalReturn = -2;

/** One game. Both players are agents of the same kind; only the model of the player `learner` is trained. */
export class PokerWorkflow extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const game = task.metadata as Game;
    const players = [createPlayer(0, game, tuner), createPlayer(1, game, tuner)] as const;
    const history: Action[] = [];
    while (legalActions(history).length > 0) {
      const seat = nextSeat(history);
      const action = await chooseAction(players[seat], history, game.deal[seat]);
      if (action === undefined) return { ...toOutput(illegalReturn, history), logMetrics: { illegal: 1 } };
      history.push(action);
    }
    return { ...toOutput(returnOf(game.seat, game.deal, history), history), logMetrics: { illegal: 0 } };
  }
}

function toOutput(reward: number, history: readonly Action[]): WorkflowOutput {
  return { reward, isSuccess: reward > 0, metadata: { history: history.join(' ') } };
}

function createPlayer(seat: Seat, { seat: learner, luck }: Game, tuner: Tuner): ReActAgent {
  const targetTag = seat === learner ? 'learner' : 'opponent';
  const debugModel = new CautiousPlayer(createRandom(luck));
  const model = asModel(tuner, { agentName: targetTag, targetTag, debugModel });
  return new ReActAgent({ name: targetTag, systemPrompt: rules, model, memory: rememberExamples() });
}

/** Returns undefined if the answer names no legal action. */
async function chooseAction(player: ReActAgent, history: readonly Action[], card: Card): Promise<Action | undefined> {
  const legal = legalActions(history);
  const reply = await player.reply({ name: 'dealer', role: 'user', content: ask(card, history) });
  return legal.find((action) => action === reply.content);
}

/** Without examples the model answers with whole sentences. They show every action once, and no strategy. */
const examples = [
  { card: 'Q', history: [], action: 'check' },
  { card: 'J', history: ['bet'], action: 'fold' },
  { card: 'K', history: ['check'], action: 'bet' },
  { card: 'K', history: ['check', 'bet'], action: 'call' },
] as const;

function rememberExamples(): InMemoryMemory {
  const memory = new InMemoryMemory();
  for (const { card, history, action } of examples) {
    memory.add({ role: 'user', content: ask(card, history) });
    memory.add({ role: 'assistant', content: action });
  }
  return memory;
}

function ask(card: Card, history: readonly Action[]): string {
  const happened = history.length === 0 ? 'You act first.' : `Your opponent ${history.at(-1)}s.`;
  return `Your card is ${card}. ${happened} Do you ${legalActions(history).join(' or ')}?`;
}
