import type { Random } from '@agentjet/core';
import { days, type Kind } from '#tutorial/office/jobs.js';
import { lastMessage, pick, type Teacher } from '../../shared/teacher.js';

/** The content of a job. */
type Read = {
  readonly kind: Kind;
  readonly person: string;
  readonly text: string;
  readonly amount: string;
  readonly day: string;
};

function readJob(prompt: string): Read {
  const [, job = ''] = /<\|im_start\|>user\n(.*?)<\|im_end\|>/s.exec(prompt) ?? [];
  const read = (kind: Kind, pattern: RegExp): Read | undefined => {
    const { person = '', text = '', amount = '', day = '' } = pattern.exec(job)?.groups ?? {};
    return person === '' ? undefined : { kind, person, text, amount, day };
  };
  const found =
    read('write', /^Tell (?<person>\w+): (?<text>.*)\.$/) ??
    read('pay', /^Pay (?<person>\w+) (?<amount>\d+)\.$/) ??
    read('move', /^Move the meeting with (?<person>\w+) to (?<day>\w+)\.$/) ??
    read('cancel', /^Cancel the meeting with (?<person>\w+)\.$/) ??
    read('meet', /^Meet (?<person>\w+) again on (?<day>\w+)\.$/);
  if (found === undefined) throw new RangeError(`"${job}" is not a job of the office.`);
  return found;
}

type Record = { readonly id?: number; readonly mail?: string; readonly account?: number };

function lookIn(app: 'contacts' | 'calendar', { person }: Read): string {
  return `${app}.find("${person}")`;
}

const firstLook: { readonly [kind in Kind]: number } = { write: 0.8, pay: 0.7, move: 0.35, cancel: 0.45, meet: 0.35 };

/**
 * Decides where to look somebody up: in the contacts for a share of the jobs, which depends on the kind of job, and
 * otherwise in the calendar.
 */
function look(job: Read, random: Random): string {
  return lookIn(random.next() < firstLook[job.kind] ? 'contacts' : 'calendar', job);
}

/** Chooses an action. For each kind of job except writing, a wrong action is more frequent than the right one. */
function actOnContact({ kind, person, text, amount, day }: Read, record: Record, random: Random): string {
  const { mail, account } = record;
  const chance = random.next();
  if (kind === 'write') return chance < 0.6 ? `mail.send("${mail}", "${text}")` : `mail.send(${account}, "${text}")`;
  if (kind === 'pay') {
    if (chance < 0.5) return `bank.pay("${mail}", ${amount})`;
    return chance < 0.85 ? `bank.pay(${account}, ${amount})` : `bank.pay(${amount}, ${account})`;
  }
  const shown = day === '' ? pick(days, random) : day;
  if (chance < 0.5) return `calendar.add("${person}", "${shown}")`;
  return `calendar.find("${person}")`;
}

function actOnMeeting({ kind, person, text, amount, day }: Read, record: Record, random: Random): string {
  const { id } = record;
  const chance = random.next();
  if (kind === 'write' && chance < 0.5) return `mail.send(${id}, "${text}")`;
  if (kind === 'pay' && chance < 0.5) return `bank.pay(${id}, ${amount})`;
  if (kind === 'write' || kind === 'pay') return `contacts.find("${person}")`;
  const move = `calendar.move(${id}, "${day === '' ? pick(days, random) : day}")`;
  const add = `calendar.add("${person}", "${day === '' ? pick(days, random) : day}")`;
  const cancel = `calendar.cancel(${id})`;
  const [usual, right, other] =
    kind === 'move' ? [add, move, cancel] : kind === 'cancel' ? [move, cancel, add] : [move, add, cancel];
  return chance < 0.5 ? usual : chance < 0.87 ? right : other;
}

/** Looks somebody up, acts on the result, and ends the job. The form is right, and the app is mostly wrong. */
export const officeTeacher: Teacher = (prompt, random) => {
  const job = readJob(prompt);
  const seen = lastMessage(prompt);
  if (!prompt.includes('<|im_start|>assistant\n', prompt.indexOf('<|im_start|>user')) || !prompt.includes('.find('))
    return look(job, random);
  if (!seen.startsWith('{')) return 'done()';
  const record = JSON.parse(seen) as Record;
  return record.mail === undefined ? actOnMeeting(job, record, random) : actOnContact(job, record, random);
};
