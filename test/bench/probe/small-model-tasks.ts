import { createRandom, type ChatMessage, type ChatModel, type Random } from '@agentjet/core';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';

/**
 * Three sets of tasks for a real small model, which it solves sometimes: read a sentence as JSON, calculate with a tool in two
 * turns, and name one of four functions. Each prompt has example turns, because without them the model solves nothing.
 */
export type TaskSet = {
  readonly tasks: readonly Task[];
  readonly workflow: (task: Task, tuner: Tuner) => Promise<WorkflowOutput>;
};

const numTasks = 400;

const names = ['Ann', 'Bob', 'Carla', 'Deniz', 'Emma', 'Farid', 'Grace', 'Hugo', 'Ines', 'Jonas'];
const cities = ['Rome', 'Oslo', 'Paris', 'Lima', 'Cairo', 'Delhi', 'Quito', 'Berlin', 'Porto', 'Kyoto'];

const pick = <Value>(random: Random, values: readonly Value[]): Value => {
  const value = values[random.int(values.length)];
  if (value === undefined) throw new RangeError('There is nothing to pick from.');
  return value;
};

function makeTasks(
  seed: number,
  make: (random: Random) => { readonly query: string; readonly answer: unknown },
): readonly Task[] {
  const random = createRandom(seed);
  return Array.from({ length: numTasks }, (_, index) => {
    const { query, answer } = make(random);
    return { taskId: `task-${index}`, mainQuery: query, initMessages: [], metadata: { answer } };
  });
}

const modelOf = (tuner: Tuner): ChatModel => tuner.selectModel({ agentName: 'solver' }, (model) => model);

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
const system = (content: string): ChatMessage => ({ role: 'system', content });

async function ask(messages: readonly ChatMessage[], tuner: Tuner): Promise<string> {
  const { message } = await modelOf(tuner).generate({ messages }, { signal: tuner.signal });
  return message.content;
}

const graded = (reward: number): WorkflowOutput => ({ reward, isSuccess: reward === 1 });

export const json: TaskSet = {
  tasks: makeTasks(1, (random) => {
    const answer = { name: pick(random, names), age: 18 + random.int(70), city: pick(random, cities) };
    const { name, age, city } = answer;
    const query = pick(random, [
      `${name} is ${age} years old and lives in ${city}.`,
      `In ${city} there lives ${name}, who turned ${age} last week.`,
      `Meet ${name}! Home: ${city}. Born ${age} years ago.`,
    ]);
    return { query, answer };
  }),
  async workflow(task, tuner) {
    const text = await ask(
      [
        system('Write the person as JSON with the keys name, age and city.'),
        user('Maria is 40 years old and lives in Bonn.'),
        assistant('{"name": "Maria", "age": 40, "city": "Bonn"}'),
        user(task.mainQuery),
      ],
      tuner,
    );
    try {
      return graded(JSON.stringify(JSON.parse(text)) === JSON.stringify(task.metadata['answer']) ? 1 : 0);
    } catch {
      return graded(0);
    }
  },
};

export const calculator: TaskSet = {
  tasks: makeTasks(2, (random) => {
    const [a, b] = [12 + random.int(80), 3 + random.int(20)];
    const { query, answer } = pick(random, [
      { query: `A box has ${a} pens. How many pens do ${b} boxes have?`, answer: a * b },
      { query: `${a} birds sit on a tree and ${b} more arrive. How many birds are there?`, answer: a + b },
      { query: `A baker has ${a} rolls and sells ${b}. How many rolls are left?`, answer: a - b },
    ]);
    return { query, answer };
  }),
  async workflow(task, tuner) {
    const messages = [
      system(
        'Solve the problem with a calculator. First write CALC and an expression. You get the RESULT. Then write ANSWER and the number.',
      ),
      user('A train has 30 wagons with 8 doors each. How many doors are there?'),
      assistant('CALC 30 * 8'),
      user('RESULT 240'),
      assistant('ANSWER 240'),
      user(task.mainQuery),
    ];
    const first = await ask(messages, tuner);
    const [, left, operator, right] = /^CALC (\d+) ([*+-]) (\d+)$/.exec(first.trim()) ?? [];
    if (left === undefined) return graded(0);
    const result = calculate(Number(left), operator, Number(right));
    const second = await ask([...messages, assistant(first), user(`RESULT ${result}`)], tuner);
    return graded(second.trim() === `ANSWER ${String(task.metadata['answer'])}` ? 1 : 0);
  },
};

function calculate(left: number, operator: string | undefined, right: number): number {
  if (operator === '*') return left * right;
  return operator === '+' ? left + right : left - right;
}

const calls: Readonly<Record<string, readonly string[]>> = {
  weather: ['Will it rain in CITY today?', 'How warm is it in CITY?'],
  flight: ['Book me a plane to CITY.', 'I need to fly to CITY tomorrow.'],
  hotel: ['I need a room in CITY for two nights.', 'Where can I sleep in CITY?'],
  restaurant: ['Where can I eat in CITY?', 'Find a good pizza in CITY.'],
};

/** The right function and the right city give half of the reward each. */
export const functions: TaskSet = {
  tasks: makeTasks(3, (random) => {
    const [name, city] = [pick(random, Object.keys(calls)), pick(random, cities)];
    return { query: pick(random, calls[name] ?? []).replace('CITY', city), answer: [name, city] };
  }),
  async workflow(task, tuner) {
    const text = await ask(
      [
        system(
          'Choose one function: weather(city), flight(city), hotel(city) or restaurant(city). Write only the call.',
        ),
        user('Is it windy in Bonn?'),
        assistant('weather(Bonn)'),
        user('Reserve a table in Nice.'),
        assistant('restaurant(Nice)'),
        user(task.mainQuery),
      ],
      tuner,
    );
    const [, name, city] = /^(\w+)\((\w+)\)$/.exec(text.trim()) ?? [];
    const [rightName, rightCity] = task.metadata['answer'] as readonly [string, string];
    return graded((name === rightName ? 0.5 : 0) + (city === rightCity ? 0.5 : 0));
  },
};
