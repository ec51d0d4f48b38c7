import { createRandom, deriveSeed, type Random } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import { answerCall, cities, items, type ToolCall, warehouses, weekdays } from './shop.js';

/**
 * Questions of customers. Each needs one call. A hash of the question decides its split: one question in eight is for
 * evaluation.
 */

function pick<T>(values: readonly T[], random: Random): T {
  const value = values[random.int(values.length)];
  if (value === undefined) throw new RangeError('Cannot pick from an empty list.');
  return value;
}

export type Question = { readonly text: string; readonly call: ToolCall };

const makers: readonly ((random: Random) => Question)[] = [
  (random) => {
    const input = { item: pick(items, random), warehouse: pick(warehouses, random) };
    const texts = [
      `How many pieces of the ${input.item} are in the ${input.warehouse} warehouse?`,
      `Does the warehouse in the ${input.warehouse} still have the ${input.item}, and how often?`,
    ];
    return { text: pick(texts, random), call: { name: 'count_stock', input } };
  },
  (random) => {
    const input = { item: pick(items, random), quantity: 2 + random.int(18), express: random.int(2) === 0 };
    const haste = input.express ? 'It is urgent, so send it express.' : 'There is no hurry.';
    const texts = [
      `What do ${input.quantity} pieces of the ${input.item} cost? ${haste}`,
      `I take the ${input.item} ${input.quantity} times. ${haste} What is the price?`,
    ];
    return { text: pick(texts, random), call: { name: 'quote_price', input } };
  },
  (random) => {
    const input = { city: pick(cities, random), weekday: pick(weekdays, random), floor: random.int(7) };
    const day = `${input.weekday[0]?.toUpperCase()}${input.weekday.slice(1)}`;
    const floor = input.floor === 0 ? 'the ground floor' : `floor ${input.floor}`;
    const texts = [
      `At what time do you come to ${floor} in ${input.city} on ${day}?`,
      `We live in ${input.city}, on ${floor}. When is the delivery on ${day}?`,
    ];
    return { text: pick(texts, random), call: { name: 'plan_delivery', input } };
  },
];

export const createQuestion = (random: Random): Question => pick(makers, random)(random);

export type Split = 'training' | 'evaluation';

export function splitOf(text: string): Split {
  return deriveSeed(0, 'shop', text) % 8 === 0 ? 'evaluation' : 'training';
}

/** Returns tasks with different questions of one split. The same seed gives the same tasks. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, split));
  const questions = new Map<string, ToolCall>();
  while (questions.size < count) {
    const { text, call } = createQuestion(random);
    if (splitOf(text) === split) questions.set(text, call);
  }
  return [...questions].map(([text, call], index) => ({
    taskId: `${split}-${index}`,
    mainQuery: text,
    initMessages: [],
    metadata: { tool: call.name, call, answer: answerCall(call) },
  }));
}

/** typed_tools.yaml names this reader. */
export const shopQuestions: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 1024 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 100 });
  },
};
