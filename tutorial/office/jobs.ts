import { createRandom, deriveSeed, type Random } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import type { OfficeState } from './office-world.js';

/** Jobs for an office. Each has the initial state of the apps and the expected one. */
const kinds = ['write', 'pay', 'move', 'cancel', 'meet'] as const;
export type Kind = (typeof kinds)[number];

const people =
  'Ann Ben Cleo Dan Eve Finn Gus Hana Ida Jon Kim Leo Mia Ned Ola Pia Quin Rosa Sam Tess Una Vic Wim Zoe'.split(' ');
export const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'] as const;
const subjects = ['the train', 'the lunch', 'the report', 'the room', 'the tea', 'the parcel'];
const conditions = ['is late', 'is ready', 'is off', 'is here', 'is lost'];
const hosts = ['oak', 'elm', 'fir', 'ash', 'yew', 'bay', 'fig', 'nut'];

export type Job = {
  readonly kind: Kind;
  readonly person: string;
  readonly before: OfficeState;
  readonly after: OfficeState;
};

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.int(items.length)];
  if (item === undefined) throw new RangeError('Cannot pick from an empty list.');
  return item;
}

function drawSome<T>(items: readonly T[], count: number, random: Random): readonly T[] {
  const left = [...items];
  return Array.from({ length: count }, () => left.splice(random.int(left.length), 1)).flat();
}

/** Numbers without repetition, from `least` on. */
function drawNumbers(least: number, span: number, count: number, random: Random): readonly number[] {
  const drawn = new Set<number>();
  while (drawn.size < count) drawn.add(least + random.int(span));
  return [...drawn];
}

function drawState(random: Random): OfficeState {
  const names = drawSome(people, 3, random);
  const accounts = drawNumbers(1000, 9000, 3, random);
  const ids = drawNumbers(10, 80, 3, random);
  const mails = drawNumbers(10, 90, 3, random);
  return {
    contacts: names.map((name, at) => ({
      name,
      mail: `${pick(hosts, random)}${mails[at]}`,
      account: accounts[at] ?? 0,
    })),
    meetings: names.map((name, at) => ({ id: ids[at] ?? 0, name, day: pick(days, random) })),
    sent: [],
    paid: [],
  };
}

type Drawn = Job & { readonly question: string };

function drawJob(random: Random): Drawn {
  const before = drawState(random);
  const at = random.int(before.contacts.length);
  const [contact, meeting] = [before.contacts[at], before.meetings[at]];
  if (contact === undefined || meeting === undefined) throw new RangeError('The office is empty.');
  const { name } = contact;
  const kind = pick(kinds, random);
  const others = before.meetings.filter((each) => each !== meeting);
  const day = pick(
    days.filter((each) => each !== meeting.day),
    random,
  );
  const done = (question: string, change: Partial<OfficeState>): Drawn => ({
    kind,
    person: name,
    question,
    before,
    after: { ...before, ...change },
  });
  if (kind === 'write') {
    const text = `${pick(subjects, random)} ${pick(conditions, random)}`;
    return done(`Tell ${name}: ${text}.`, { sent: [{ to: contact.mail, text }] });
  }
  if (kind === 'pay') {
    const amount = 11 + random.int(89);
    return done(`Pay ${name} ${amount}.`, { paid: [{ account: contact.account, amount }] });
  }
  if (kind === 'move')
    return done(`Move the meeting with ${name} to ${day}.`, { meetings: [...others, { ...meeting, day }] });
  if (kind === 'cancel') return done(`Cancel the meeting with ${name}.`, { meetings: others });
  const id = Math.max(...before.meetings.map((each) => each.id)) + 1;
  return done(`Meet ${name} again on ${day}.`, { meetings: [...before.meetings, { id, name, day }] });
}

export type Split = 'training' | 'evaluation';

/**
 * The words and contacts of a job decide whether it is for training or, one in eight, for evaluation, so no draw can
 * mix them.
 */
export function splitOf({ question, before }: Pick<Drawn, 'question' | 'before'>): Split {
  return deriveSeed(0, 'office', question, JSON.stringify(before)) % 8 === 0 ? 'evaluation' : 'training';
}

/** Returns different jobs of one split. The same seed gives the same jobs. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, 'office', split));
  const tasks: Task[] = [];
  while (tasks.length < count) {
    const { question, ...job } = drawJob(random);
    if (splitOf({ question, before: job.before }) !== split) continue;
    tasks.push({ taskId: `${split}-${seed}-${tasks.length}`, mainQuery: question, initMessages: [], metadata: job });
  }
  return tasks;
}

/** office.yaml names this reader. */
export const jobTasks: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 1024 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 100 });
  },
};
