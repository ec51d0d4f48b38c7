import { asModel, ReActAgent } from '@agentjet/react';
import { createRandom, deriveSeed } from '@agentjet/core';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { directions, FrozenLake, type LakeMap } from '#tutorial/frozen-lake/frozen-lake.js';
import { findTopic, type TopicName, topics } from '#tutorial/learning-to-ask/ailments.js';
import type { Patient } from '#tutorial/learning-to-ask/patients.js';
import { drawTasks as drawVillages } from '#tutorial/werewolves/village-tasks.js';
import { findName, names, type Name } from '#tutorial/werewolves/village.js';
import { lakes, type Tasks } from './jobs.js';

/** Tasks of one question and one answer, for nano and micro. */

async function askOnce(tuner: Tuner, systemPrompt: string, content: string): Promise<string> {
  const agent = new ReActAgent({ name: 'player', systemPrompt, model: asModel(tuner, { agentName: 'player' }) });
  const reply = await agent.reply({ name: 'user', role: 'user', content }, { signal: tuner.signal });
  return reply.content.trim();
}

const lakePrompt = 'You walk on a frozen lake. Answer with one word: up, down, left or right.';

/** Shows the lake once. The metadata of the output contains the answer. */
export async function stepOnce(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const lake = new FrozenLake(task.metadata['map'] as LakeMap);
  return { metadata: { answer: await askOnce(tuner, lakePrompt, lake.describe()) } };
}

/** Returns the directions that lead onto ice, but not closer to the goal. */
const waysBack = (task: Task): readonly string[] => {
  const lines = new FrozenLake(task.metadata['map'] as LakeMap).describe().split('\n');
  return directions.filter((direction) => lines.includes(`${direction}: ice`));
};

/** Asks for one step onto ice that does not lead closer to the goal. */
export async function stepAway(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const output = await stepOnce(task, tuner);
  const isSuccess = waysBack(task).some((direction) => direction === output.metadata?.['answer']);
  return { ...output, reward: isSuccess ? 1 : 0, isSuccess };
}

/** Returns the lakes on which one or two of the four directions lead back. */
export function lakesWithAWayBack(seed: number, held: number): Tasks {
  const { training, validation } = lakes(seed, 2 * held);
  const isGood = (task: Task): boolean => [1, 2].includes(waysBack(task).length);
  return { training: training.filter(isGood), validation: validation.filter(isGood).slice(0, held) };
}

/** Lets the doctor ask one question. It returns no reward. */
export async function askOneQuestion(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  return {
    metadata: { answer: await askOnce(tuner, 'You are a doctor. Ask one question at a time.', task.mainQuery) },
  };
}

function answerOf({ metadata }: WorkflowOutput): string {
  const answer = metadata?.['answer'];
  return typeof answer === 'string' ? answer : '';
}

/** Returns whether the question of an episode is about a fact that matters and that the patient did not state. */
export function asksNews({ metadata }: Task, output: WorkflowOutput): boolean {
  const topic = findTopic(answerOf(output));
  return topic !== undefined && (metadata as Patient).hidden.includes(topic);
}

/** Returns whether the question of an episode is about the fact that the patient stated. */
export function asksAgain({ metadata }: Task, output: WorkflowOutput): boolean {
  const { facts, hidden } = metadata as Patient;
  const topic = findTopic(answerOf(output));
  return topic !== undefined && topic in facts && !hidden.includes(topic);
}

/** Returns whether the answer of an episode is one of the questions about these topics, word for word. */
export const asksExactly = (about: readonly TopicName[], output: WorkflowOutput): boolean =>
  about.some((topic) => topics[topic].question === output.metadata?.['answer']);

type Night = { readonly self: Name; readonly fellow: Name; readonly others: readonly Name[] };

/** Returns first nights of a werewolf, with the other players in the order of the cast. */
export function nightTasks(seed: number, held: number): Tasks {
  const random = createRandom(deriveSeed(seed, 'nights'));
  const toTask = (task: Task): Task => {
    const cast = task.metadata['cast'] as readonly { readonly name: Name; readonly role: string }[];
    const wolves = cast.filter(({ role }) => role === 'werewolf').map(({ name }) => name);
    const [self = names[0], fellow = names[1]] = random.int(2) === 0 ? wolves : wolves.toReversed();
    const others = cast.map(({ name }) => name).filter((name) => name !== self);
    const night: Night = { self, fellow, others };
    return { ...task, metadata: night, mainQuery: `Others alive: ${others.join(', ')}. Night. Whom do you kill?` };
  };
  return {
    training: drawVillages('training', { seed, count: 512 }).map(toTask),
    validation: drawVillages('evaluation', { seed: 1, count: held }).map(toTask),
  };
}

/** Asks a werewolf for its first victim. It has to name the first of the others who is not its fellow. */
export async function killTheFirst(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const { self, fellow, others } = task.metadata as Night;
  const answer = await askOnce(tuner, `You are ${self}, a werewolf with ${fellow}.`, task.mainQuery);
  const isSuccess = findName(answer) === others.find((name) => name !== fellow);
  return { reward: isSuccess ? 1 : 0, isSuccess, metadata: { answer } };
}
