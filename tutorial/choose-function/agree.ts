import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { createRandom, isJsonObject, type Random } from '@agentjet/core';
import { type Call, isRightCall } from './check-call.js';
import { dataDir } from './fetch-bfcl.js';
import { type ChoiceTask, readTasks } from './functions.js';

/**
 * `npx tsx tutorial/choose-function/agree.ts` asks BFCL's own checker and ours about the same 500 calls: gold calls, and
 * gold calls with one thing changed. It needs the data and python3.
 */

export type Case = Call & Pick<ChoiceTask, 'functions' | 'kind'> & { readonly gold: string };

export type Agreement = {
  readonly answers: number;
  readonly same: number;
  /** The number of calls that BFCL's checker accepts. */
  readonly right: number;
  readonly differ: readonly { readonly call: Call; readonly gold: string; readonly theirs: string }[];
};

function pick<T>(values: readonly T[], random: Random): T | undefined {
  return values[random.int(values.length)];
}

/** Arguments as JSON text by name. As text, 3.0 differs from 3. */
type Texts = ReadonlyMap<string, string>;

function drawGold(gold: string, random: Random): { readonly name: string; readonly texts: Texts } {
  const [[name, accepted] = []] = Object.entries(JSON.parse(gold) as Readonly<Record<string, object>>);
  const texts = new Map<string, string>();
  for (const [parameter, values] of Object.entries(accepted ?? {})) {
    const value: unknown = pick(values as readonly unknown[], random);
    if (value !== '') texts.set(parameter, JSON.stringify(isJsonObject(value) ? drawRecord(value, random) : value));
  }
  return { name: name ?? '', texts };
}

/** Draws one value for each key, because a gold record lists all accepted values of a key. */
function drawRecord(record: Readonly<Record<string, unknown>>, random: Random): object {
  const drawn = Object.entries(record).map(
    ([key, values]) => [key, Array.isArray(values) ? pick(values, random) : values] as const,
  );
  return Object.fromEntries(drawn.filter(([, value]) => value !== ''));
}

const changes: readonly ((text: string, random: Random) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase().replaceAll(/TRUE|FALSE|NULL/g, (word) => word.toLowerCase()),
  (text) => (/^-?\d+$/.test(text) ? `${text}.0` : text.replaceAll(/([a-z]) ([a-z])/g, '$1-$2')),
  (text) => (/^-?\d/.test(text) ? String(Number(text) + 1) : text),
  (text) => (/^-?\d/.test(text) ? JSON.stringify(text) : text.replaceAll("'", '')),
  (text) => `[${text}]`,
  (text) => text.replace(/^\[(.+?),.*\]$/, '[$1]'),
  (text) => text.replace(/^\{"(\w+)": ?/, '{"other_$1":'),
  (_text, random) => pick(['null', 'true', '0', '""', '{}', '[]', '"x"', '1.5'], random) ?? 'null',
];

function changeOne(texts: Texts, random: Random): Texts {
  const changed = new Map(texts);
  const parameter = pick([...texts.keys()], random) ?? 'unknown';
  const how = random.int(changes.length + 2);
  if (how === changes.length) changed.delete(parameter);
  else if (how > changes.length) changed.set('unknown', '1');
  else changed.set(parameter, changes[how]?.(changed.get(parameter) ?? '1', random) ?? '1');
  return changed;
}

export function drawCases(count: number): readonly Case[] {
  const random = createRandom(7);
  const tasks = readTasks().filter(({ metadata }) => metadata.gold !== null);
  return Array.from({ length: count }, (): Case => {
    const { functions, kind, gold } = pick(tasks, random)?.metadata ?? { functions: [], kind: 'simple', gold: null };
    const { name, texts } = drawGold(gold ?? '{}', random);
    const written = random.int(3) === 0 ? texts : changeOne(texts, random);
    const isOtherName = random.int(12) === 0;
    const json = `{${[...written].map(([parameter, text]) => `${JSON.stringify(parameter)}: ${text}`).join(', ')}}`;
    return { name: isOtherName ? `${name}s` : name, arguments: json, functions, kind, gold: gold ?? '{}' };
  });
}

export function compareCheckers(cases: readonly Case[], python = 'python3'): Agreement {
  const script = path.join(import.meta.dirname, 'agree.py');
  const output = execFileSync(python, [script, path.join(dataDir, 'ast_checker.py')], {
    input: cases.map((each) => `${JSON.stringify(each)}\n`).join(''),
    encoding: 'utf8',
  });
  const theirs = output.trim().split('\n');
  const differ = cases.flatMap((each, index) => {
    const ours = isRightCall(each, each.functions, each.gold) ? 'right' : 'wrong';
    const { name, arguments: json, gold } = each;
    return ours === theirs[index] ? [] : [{ call: { name, arguments: json }, gold, theirs: theirs[index] ?? 'none' }];
  });
  const right = theirs.filter((verdict) => verdict === 'right').length;
  return { answers: cases.length, same: cases.length - differ.length, right, differ };
}

if (process.argv[1] === import.meta.filename) {
  const { differ, ...counts } = compareCheckers(drawCases(500));
  console.log(JSON.stringify(counts));
  for (const each of differ) console.log(JSON.stringify(each));
}
