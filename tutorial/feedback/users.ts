import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
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
const peopleAtATime = 8;

/** A line of the traces, as `feedback_tracing` reads them. */
export type LoggedAnswer = {
  readonly id: string;
  readonly conversation_id: string;
  readonly question: string;
  readonly answer: string;
  readonly feedback: { readonly thumb?: 'up' | 'down'; readonly correction?: string };
};

/** Returns the user's rating of an answer. */
export function rate(answer: string, right: number, random: Random): LoggedAnswer['feedback'] {
  if (random.next() < 0.4) return {};
  const isRight = answer.trim() !== '' && Number(answer) === right;
  const isSlip = random.next() < 1 / 30;
  if (isRight !== isSlip) return { thumb: 'up' };
  const writes = random.next() < 0.5 && !isSlip;
  return { thumb: 'down', ...(writes && { correction: String(right) }) };
}

export type Week = { readonly week: number; readonly people: number; readonly seed: number };

/** Runs a week of the deployed agent. Its questions do not repeat those of earlier weeks. */
export async function liveWeek(
  ask: (question: string) => Promise<string>,
  { week, people, seed }: Week,
): Promise<readonly LoggedAnswer[]> {
  const count = people * questionsEach;
  const tasks = drawTasks('training', { seed: deriveSeed(seed, 'questions'), count: week * count }).slice(-count);
  const live = async (person: number): Promise<readonly LoggedAnswer[]> => {
    const random = createRandom(deriveSeed(seed, 'people', week, person));
    const logged: LoggedAnswer[] = [];
    for (const { mainQuery, metadata } of tasks.slice(person * questionsEach, (person + 1) * questionsEach)) {
      const answer = (await ask(mainQuery)) || 'I do not know.';
      logged.push({
        id: `week-${week}-${person}-${logged.length}`,
        conversation_id: `week-${week}-${person}`,
        question: mainQuery,
        answer,
        feedback: rate(answer, Number(metadata['answer']), random),
      });
    }
    return logged;
  };
  const all: LoggedAnswer[] = [];
  for (let from = 0; from < people; from += peopleAtATime) {
    const group = Array.from({ length: Math.min(peopleAtATime, people - from) }, (_, at) => live(from + at));
    all.push(...(await Promise.all(group)).flat());
  }
  return all;
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

function describe(logged: readonly LoggedAnswer[]): string {
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
      traces: { type: 'string', default: path.join(import.meta.dirname, 'traces') },
    },
  });
  const [week, people, seed] = [values.week, values.people, values.seed].map(Number) as [number, number, number];
  const client = openClient(values.url, seed);
  await untilServed(values.url);
  const logged = await liveWeek((question) => solve(question, client), { week, people, seed });
  await mkdir(values.traces, { recursive: true });
  await writeFile(
    path.join(values.traces, `week-${week}.jsonl`),
    logged.map((line) => `${JSON.stringify(line)}\n`).join(''),
  );
  console.log(describe(logged));
}
