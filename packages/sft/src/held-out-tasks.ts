import type { Task } from '@agentjet/core';
import type { Transcript } from './conversation.js';

/** Recognizes the evaluation tasks of the configuration, so that none of them is trained. */
export type HeldOutTasks = (transcript: Transcript) => boolean;

/** A question of fewer words is recognized only if it is the whole message. */
const fewestWords = 4;

/**
 * A transcript belongs to a held-out task if its task has the same content or question, or if its task has the same id
 * and only an id is known. If the task's question is not known, a user's message that is the question of a held-out
 * task, or contains it, identifies the task. Case and space do not matter. A question that several evaluation tasks
 * share identifies none of them.
 */
export function createHeldOutTasks(tasks: readonly Task[]): HeldOutTasks {
  const contents = new Set(tasks.map(contentOfTask));
  const ids = new Set(tasks.map(({ taskId }) => taskId));
  const questions = onlyOnce(tasks.map(({ mainQuery }) => normalize(mainQuery)).filter((text) => text !== ''));
  const whole = new Set(questions);
  const long = questions.filter((text) => text.split(' ').length >= fewestWords);
  const holdsAny = (text: string): boolean => long.some((question) => holds(text, question));
  return ({ task, conversations, tokens }) => {
    if (tasks.length === 0) return false;
    if (task !== null && hasContent(task)) {
      if (contents.has(contentOfTask(task)) || whole.has(normalize(task.mainQuery))) return true;
      if (asksSomething(task)) return false;
    } else if (task !== null && ids.has(task.taskId)) return true;
    if (tokens !== undefined) return holdsAny(normalize(tokens.text));
    const asked = conversations.flatMap(({ messages }) =>
      messages.flatMap(({ role, content }) => (role === 'user' ? [normalize(content)] : [])),
    );
    return asked.some((text) => whole.has(text) || holdsAny(text));
  };
}

/** Whether more than the id of the task is known. */
export function hasContent(task: Task): boolean {
  return asksSomething(task) || Object.keys(task.metadata).length > 0;
}

function asksSomething({ mainQuery, initMessages }: Task): boolean {
  return mainQuery !== '' || initMessages.length > 0;
}

/** The content by which two tasks are the same problem: everything except their ids. */
export function contentOfTask({ mainQuery, initMessages, metadata }: Task): string {
  return JSON.stringify([normalize(mainQuery), initMessages.map(({ content }) => normalize(content)), metadata]);
}

export function normalize(text: string): string {
  return text.trim().toLowerCase().replace(/\s+/g, ' ');
}

/** Matches whole words only. */
function holds(text: string, question: string): boolean {
  const at = text.indexOf(question);
  if (at === -1) return false;
  const around = [text[at - 1] ?? ' ', text[at + question.length] ?? ' '];
  return around.every((character) => !/[\p{L}\p{N}]/u.test(character));
}

function onlyOnce(texts: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return texts.filter((text) => counts.get(text) === 1);
}
