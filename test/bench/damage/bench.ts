/**
 * Does a store notice all damage, and is every sound store accepted? The benchmark damages copies of a store at random:
 * it flips bytes, cuts, empties and removes files, and zeroes and swaps pages. In a child process, `verify` reads each
 * copy and a server opens it. Damage is silent if the data that is read differs from the undamaged store and no error
 * is reported. It causes an abort if the child process ends. The sound stores are those of writers that were killed at
 * a random moment.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createRandom } from '@agentjet/core';
import { type BenchOptions, type BenchResult, numberOption, type OptionTexts } from '../bench.js';

export const optionTexts: OptionTexts = {
  '--damages <n>': 'damaged stores; default 500',
  '--sound <n>': 'sound stores; default 100',
  '--seed <n>': 'default 1',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-damage-'));
  const options = {
    damages: numberOption(args, '--damages', 500),
    sound: numberOption(args, '--sound', 100),
    seed: numberOption(args, '--seed', 1),
  };
  try {
    const damaged = await damageCopies(dir, options, report);
    const calledDamaged = await killWriters(dir, options, report);
    const { silent, aborts, harmless } = damaged;
    return {
      summary: {
        damages: options.damages,
        silent: silent.length,
        aborts: aborts.length,
        sound: options.sound,
        called_damaged: calledDamaged.length,
      },
      details: { seed: options.seed, harmless, silent, aborts, called_damaged: calledDamaged },
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Options = { readonly damages: number; readonly sound: number; readonly seed: number };
type Report = BenchOptions['report'];
type Line = {
  readonly what?: string;
  readonly noticed?: boolean;
  readonly wrong?: readonly string[];
  readonly read?: string;
  readonly served?: string;
};

async function damageCopies(dir: string, { damages, seed }: Options, report: Report) {
  const sound = path.join(dir, 'sound');
  await linesOf(start('make', sound, '60'));
  const found = { silent: [] as string[], aborts: [] as string[], harmless: 0 };
  for (let done = 0; done < damages; ) {
    const count = damages - done;
    const lines = await linesOf(start('damage', sound, path.join(dir, 'copy'), String(seed + done), String(count)));
    let what = '';
    for (const line of lines) {
      what = line.what ?? what;
      if (line.wrong === undefined) continue;
      done++;
      if (line.wrong.length > 0) found.silent.push(`${what} (${line.wrong.join(', ')})`);
      else if (line.noticed === false) found.harmless++;
    }
    if (lines.at(-1)?.wrong !== undefined && done === damages) break;
    found.aborts.push(what);
    done++;
  }
  report(
    `${damages} damages: ${found.silent.length} silent, ${found.aborts.length} aborts, ${found.harmless} harmless`,
  );
  return found;
}

/** Kills writers at random moments. Returns the reports about stores that were called damaged. */
async function killWriters(dir: string, { sound, seed }: Options, report: Report): Promise<readonly string[]> {
  const random = createRandom(seed);
  const wrong: string[] = [];
  for (let index = 0; index < sound; index++) {
    const store = path.join(dir, `killed-${index}`);
    const child = start('write', store);
    const ended = linesOf(child, () => setTimeout(() => child.kill('SIGKILL'), 400 * random.next() ** 2));
    await ended;
    const [line] = await linesOf(start('check', store));
    if (line === undefined || line.read === 'damaged' || line.served === 'damaged')
      wrong.push(JSON.stringify(line ?? 'aborted'));
    rmSync(store, { recursive: true, force: true });
    if (index % 10 === 9) report(`${index + 1} sound stores: ${wrong.length} called damaged`);
  }
  return wrong;
}

function start(...args: readonly string[]): ChildProcess {
  const tsx = path.resolve(import.meta.dirname, '../../../node_modules/tsx/dist/loader.mjs');
  const script = path.join(import.meta.dirname, 'child.ts');
  return spawn(process.execPath, ['--import', tsx, script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Resolves with the lines that a child printed before its end. `onFirst` is called at the first line. */
async function linesOf(child: ChildProcess, onFirst: () => void = () => undefined): Promise<readonly Line[]> {
  const lines: Line[] = [];
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  if (child.stdout === null) throw new TypeError('The child has no output.');
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line) as Line);
    if (lines.length === 1) onFirst();
  });
  await ended;
  return lines;
}
