import { createRandom, deriveSeed } from '@agentjet/core';
import { asModel as asReactModel, ReActAgent } from '@agentjet/react';
import { asModel as asClient } from '@agentjet/openai';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { directions, FrozenLake, type Direction, type LakeMap } from '#tutorial/frozen-lake/frozen-lake.js';
import type { Tasks } from './jobs.js';

/** Tasks that no tutorial has, for the models of this folder. */

const walkPrompt =
  'You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right.';

type Walk = { readonly lake: FrozenLake; readonly moves: number };

async function walkOver(task: Task, tuner: Tuner, maxMoves: number): Promise<Walk> {
  const lake = new FrozenLake(task.metadata['map'] as LakeMap);
  const model = asReactModel(tuner, { agentName: 'walker' });
  const agent = new ReActAgent({ name: 'walker', systemPrompt: walkPrompt, model });
  let moves = 0;
  for (; moves < maxMoves && lake.state === 'walking'; moves++) {
    const seen = { name: 'lake', role: 'user', content: lake.describe() } as const;
    const { content } = await agent.reply(seen, { signal: tuner.signal });
    const direction = directions.find((each): each is Direction => each === content.trim());
    if (direction === undefined) break;
    lake.step(direction);
  }
  return { lake, moves };
}

/** Plays the frozen lake with the opposite goal: a walk succeeds if it ends in a hole. */
export async function fish(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const { lake } = await walkOver(task, tuner, 5);
  return { reward: lake.state === 'hole' ? 1 : 0, isSuccess: lake.state === 'hole' };
}

/** Plays the frozen lake with another goal: a walk succeeds if it reaches neither a hole nor the goal in six moves. */
export async function stayOnIce(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const { lake, moves } = await walkOver(task, tuner, 6);
  const isSuccess = lake.state === 'walking' && moves === 6;
  return { reward: moves / 6 - (isSuccess ? 0 : 0.5), isSuccess };
}

const people = ['Ann', 'Ben', 'Cleo', 'Dan', 'Eve', 'Finn'];
const things = ['apples', 'books', 'coins', 'eggs', 'nuts', 'pens'];

/** Returns sums and differences in words that the models were not made with: things are put on a shelf or taken off. */
export function shelfTasks(seed: number): Tasks {
  const random = createRandom(deriveSeed(seed, 'shelves'));
  const pick = (values: readonly string[]): string => values[random.int(values.length)] ?? '';
  const tasks = new Map<string, Task>();
  while (tasks.size < 500) {
    const [many, few] = [21 + random.int(78), 2 + random.int(18)];
    const [who, what] = [pick(people), pick(things)];
    const isMore = random.int(2) === 0;
    const mainQuery = isMore
      ? `The shelf had ${many} ${what} and ${who} put ${few} on it. How many ${what} now?`
      : `The shelf had ${many} ${what} and ${who} took ${few} off it. How many ${what} now?`;
    if (tasks.has(mainQuery)) continue;
    const metadata = { answer: isMore ? many + few : many - few, kind: isMore ? 'more' : 'fewer' };
    tasks.set(mainQuery, { taskId: `shelf-${seed}-${tasks.size}`, mainQuery, initMessages: [], metadata });
  }
  const all = [...tasks.values()];
  return { training: all.slice(60), validation: all.slice(0, 60) };
}

const cities = ['Lisbon', 'Oslo', 'Vienna', 'Dublin', 'Athens', 'Prague', 'Turin', 'Bergen', 'Porto', 'Madrid'];
const carriers = ['train', 'bus', 'ship', 'plane'];

/** Returns sentences about a journey. The question asks where the journey begins and where it ends. */
export function journeyTasks(seed: number): Tasks {
  const random = createRandom(deriveSeed(seed, 'journeys'));
  const pick = (values: readonly string[]): string => values[random.int(values.length)] ?? '';
  const tasks = new Map<string, Task>();
  while (tasks.size < 300) {
    const [from, to, who, by] = [pick(cities), pick(cities), pick(people), pick(carriers)];
    if (from === to) continue;
    const forms = [
      `${who} took the ${by} from ${from} to ${to}.`,
      `${who} reached ${to} by ${by}. The journey began in ${from}.`,
      `After a week in ${from}, ${who} left for ${to} by ${by}.`,
    ];
    const mainQuery = pick(forms);
    if (tasks.has(mainQuery)) continue;
    tasks.set(mainQuery, {
      taskId: `journey-${seed}-${tasks.size}`,
      mainQuery,
      initMessages: [],
      metadata: { answer: `${from} > ${to}` },
    });
  }
  const all = [...tasks.values()];
  return { training: all.slice(60), validation: all.slice(0, 60) };
}

const journeyPrompt = 'Where does the journey begin and where does it end? Answer as: begin > end.';

/** Asks the model once, with one example in the prompt. */
export async function readJourney(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const client = asClient(tuner, { agentName: 'reader' });
  const { choices } = await client.chat.completions.create(
    {
      model: 'gpt-4o-mini',
      messages: [
        { role: 'system', content: journeyPrompt },
        { role: 'user', content: 'Gil left Rome and arrived in Paris by car.' },
        { role: 'assistant', content: 'Rome > Paris' },
        { role: 'user', content: task.mainQuery },
      ],
    },
    { signal: tuner.signal },
  );
  const answer = (choices[0]?.message.content ?? '').trim();
  const isSuccess = answer === task.metadata['answer'];
  return { reward: isSuccess ? 1 : 0, isSuccess, metadata: { answer } };
}
