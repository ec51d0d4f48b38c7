import type { Task } from '@agentjet/core';
import type { Transcript } from './conversation.js';

/** Recognizes the evaluation tasks of the configuration, so that none of them is trained. */
export type HeldOutTasks = (transcript: Transcript) => boolean;

/** A question with fewer words than this is recognized only if it is the whole message. */
const fewestWords = 4;

/**
 * A transcript belongs to a held-out task if its own task has the same content or the same question. If its task is known
 * only by its id, the same id is enough. If its question is not known, its user messages are searched: the transcript then
 * also belongs to a held-out task if one of them is or contains the question of that task. Upper case
 * and white space are ignored. A question that several evaluation tasks share is not used.
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

/** Returns the content of a task without its id. Two tasks with the same content are the same problem. */
export function contentOfTask({ mainQuery, initMessages, metadata }: Task): string {
  return JSON.stringify([normalize(mainQuery), initMessages.map(({ content }) => normalize(content)), metadata]);
}

export function normalize(text: string): string {
  return text.trim().toLowerCase().replace(/\s+/g, ' ');
}

/** Whether the text contains the question as whole words. */
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
