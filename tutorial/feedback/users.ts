import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createRandom, deriveSeed, type Random } from '@agentjet/core';
import OpenAI from 'openai';
import { solve } from '../math-agent/agents/openai.js';
import { drawTasks } from '../math-agent/generate-data.js';

/**
 * Simulates the users of the deployed agent. Each asks three questions. Many do not rate an answer, some give a thumb
 * up or down, some write the right answer, and one rating in thirty is a mistake.
 */

const questionsEach = 3;

export type Feedback = { readonly thumb?: 'up' | 'down'; readonly correction?: string };

/** A question of a user, the answer, and what the user says of it. */
export type Asked = {
  /** The id of the user's conversation. */
  readonly conversation: string;
  /** The number of the question in it, from 1. */
  readonly number: number;
  readonly question: string;
  readonly answer: string;
  readonly feedback: Feedback;
};

/** The deployed agent as one user sees it. */
export type Deployed = {
  readonly ask: (question: string, conversation: string) => Promise<string>;
  readonly tell: (asked: Asked) => Promise<void>;
};

/** Returns the user's rating of an answer. */
export function rate(answer: string, right: number, random: Random): Feedback {
  if (random.next() < 0.4) return {};
  const isRight = answer.trim() !== '' && Number(answer) === right;
  const isSlip = random.next() < 1 / 30;
  if (isRight !== isSlip) return { thumb: 'up' };
  const writes = random.next() < 0.5 && !isSlip;
  return { thumb: 'down', ...(writes && { correction: String(right) }) };
}

export type Week = { readonly week: number; readonly people: number; readonly seed: number };

/**
 * Runs a week of the deployed agent. Its questions do not repeat those of earlier weeks. One user follows another, so
 * that a seed gives the same week again.
 */
export async function liveWeek({ ask, tell }: Deployed, { week, people, seed }: Week): Promise<readonly Asked[]> {
  const count = people * questionsEach;
  const tasks = drawTasks('training', { seed: deriveSeed(seed, 'questions'), count: week * count }).slice(-count);
  const all: Asked[] = [];
  for (let person = 0; person < people; person++) {
    const random = createRandom(deriveSeed(seed, 'people', week, person));
    const conversation = `week-${week}-${person}`;
    const own = tasks.slice(person * questionsEach, (person + 1) * questionsEach);
    for (const [at, { mainQuery: question, metadata }] of own.entries()) {
      const answer = await ask(question, conversation);
      const feedback = rate(answer, Number(metadata['answer']), random);
      const asked = { conversation, number: at + 1, question, answer, feedback };
      if (feedback.thumb !== undefined) await tell(asked);
      all.push(asked);
    }
  }
  return all;
}

/** Opens the deployed agent. The name of a conversation is a header of its requests. */
function openDeployed(url: string, seed: number): Deployed {
  const client = openClient(url, seed);
  return {
    ask: (question, conversation) =>
      solve(question, client.withOptions({ defaultHeaders: { 'x-ajet-conversation': conversation } })),
    tell: async ({ conversation, number, feedback }) => {
      const body = JSON.stringify({ conversation_id: conversation, question: number, ...feedback });
      const headers = { 'content-type': 'application/json' };
      const { ok, status } = await fetch(`${url}/feedback`, { method: 'POST', headers, body });
      if (!ok) throw new Error(`The server did not take the feedback: status ${status}.`);
    },
  };
}

/** Makes the deployed agent's client. The seed makes a week repeatable. */
function openClient(baseURL: string, seed: number): OpenAI {
  return new OpenAI({
    baseURL,
    apiKey: 'none',
    fetch: async (url, init) => {
      const body = (await new Request(url, init ?? {}).json()) as object;
      const drawn = deriveSeed(seed, JSON.stringify(body)) % 2 ** 31;
      return fetch(url, { ...init, body: JSON.stringify({ ...body, seed: drawn }) });
    },
  });
}

function describe(logged: readonly Asked[]): string {
  const thumbs = (thumb: 'up' | 'down'): number => logged.filter(({ feedback }) => feedback.thumb === thumb).length;
  const corrected = logged.filter(({ feedback }) => feedback.correction !== undefined).length;
  return `${logged.length} answers: ${thumbs('up')} thumbs up, ${thumbs('down')} down, ${corrected} of these with a correction`;
}

/** Waits until the server answers, for up to a minute. A server that has just started loads its model first. */
async function untilServed(url: string): Promise<void> {
  const isServed = (): Promise<boolean> =>
    fetch(`${url}/models`).then(
      () => true,
      () => false,
    );
  for (let tries = 0; tries < 120 && !(await isServed()); tries++) await setTimeout(500);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8127/v1' },
      week: { type: 'string', default: '1' },
      people: { type: 'string', default: '100' },
      seed: { type: 'string', default: '1' },
    },
  });
  const [week, people, seed] = [values.week, values.people, values.seed].map(Number) as [number, number, number];
  await untilServed(values.url);
  console.log(describe(await liveWeek(openDeployed(values.url, seed), { week, people, seed })));
}
