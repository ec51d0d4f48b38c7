import { createRandom, deriveSeed, type Random } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';

/**
 * Messages of customers and the orders in them. A hash of the message decides its split: one message in eight is for
 * evaluation.
 */

export type Order = { readonly name: string; readonly city: string; readonly item: string; readonly count: number };

const names = ['Alma', 'Boris', 'Carla', 'David', 'Elena', 'Felix', 'Greta', 'Henry', 'Irene', 'Jonas'];
const cities = ['Lisbon', 'Oslo', 'Vienna', 'Dublin', 'Athens', 'Prague', 'Turin', 'Bergen'];
const items = ['lamps', 'chairs', 'mugs', 'towels', 'mirrors', 'baskets', 'clocks', 'pillows'];
const words = ['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

const forms: readonly ((order: Omit<Order, 'count'> & { readonly count: string }) => string)[] = [
  ({ name, city, item, count }) => `${name} from ${city} would like to order ${count} ${item}.`,
  ({ name, city, item, count }) => `Please send ${count} ${item} to ${city}. The name is ${name}.`,
  ({ name, city, item, count }) => `Hello, we need ${item} for our flat in ${city}, ${count} of them. Regards, ${name}`,
  ({ name, city, item, count }) => `This is ${name}. Do you deliver to ${city}? Then I take ${count} ${item}.`,
  ({ name, city, item, count }) => `My sister ordered lots of ${item} here. I want only ${count}. ${name}, ${city}`,
];

function pick<T>(values: readonly T[], random: Random): T {
  const value = values[random.int(values.length)];
  if (value === undefined) throw new RangeError('Cannot pick from an empty list.');
  return value;
}

/** Some messages write the number as a word. */
export function createMessage(random: Random): { readonly message: string; readonly order: Order } {
  const count = 2 + random.int(words.length);
  const order = { name: pick(names, random), city: pick(cities, random), item: pick(items, random), count };
  const written = random.int(2) === 0 ? String(count) : (words[count - 2] ?? '');
  return { message: pick(forms, random)({ ...order, count: written }), order };
}

export type Split = 'training' | 'evaluation';

export function splitOf(message: string): Split {
  return deriveSeed(0, 'orders', message) % 8 === 0 ? 'evaluation' : 'training';
}

/** Returns tasks with different messages of one split. The same seed gives the same tasks. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, split));
  const orders = new Map<string, Order>();
  while (orders.size < count) {
    const { message, order } = createMessage(random);
    if (splitOf(message) === split) orders.set(message, order);
  }
  return [...orders].map(([message, order], index) => ({
    taskId: `${split}-${index}`,
    mainQuery: message,
    initMessages: [],
    metadata: { order },
  }));
}

/** json_extraction.yaml names this reader. */
export const orderTasks: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 1024 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 100 });
  },
};
