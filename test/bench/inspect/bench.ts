/**
 * How long does `ajet inspect` take for an episode of 50,000 tokens? It times the whole command, from the start of the
 * process to its end, as text and as a page. Episodes come from the real tracker, with the nano model's tokenizer, and
 * are in a run folder among siblings of the same size. There are three kinds of episodes. The first is a conversation
 * in one row. The second has a template that strips thoughts, so that each call forks, and the rows have many times the
 * tokens of the tree. The third has many short calls.
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createRunFolder } from '@agentjet/run-folder';
import { type BenchOptions, type BenchResult, median, numberOption, type OptionTexts } from '../bench.js';
import { createEpisodes } from './episodes.js';

const ajet = path.resolve(import.meta.dirname, '../../../packages/cli/dist/main.js');
/** Makes the command print its processor time when it ends. */
const sayCpu = `--import=${new URL('./say-cpu.mjs', import.meta.url).href}`;

export const wallTimeOf = 'one core';

export const optionTexts: OptionTexts = {
  '--rounds <n>': 'default 5',
  '--tokens <n>': 'tokens of an episode; default 50000',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const rounds = numberOption(args, '--rounds', 5);
  const dir = await mkdtemp(path.join(tmpdir(), 'bench-inspect-'));
  try {
    const episodes = createEpisodes(await loadChatTokenizer(nanoModelDir), numberOption(args, '--tokens', 50_000));
    const folder = await createRunFolder({
      experimentDir: dir,
      experimentName: 'inspect',
      configYaml: 'ajet:\n  model:\n    path: nano\n',
    });
    for (const [at, { record }] of episodes.entries())
      await folder.recordStep({ step: at + 1 }, [record('sibling'), record('shown')]);
    const outcomes = episodes.map(({ name, calls, record, treeTokens, rowTokens }) => {
      const { episode_id: id } = record('shown');
      const outcome = {
        name,
        tree_tokens: treeTokens,
        row_tokens: rowTokens,
        calls,
        ...measure(folder.dir, id, rounds),
      };
      report(
        `${name.padEnd(13)} ${treeTokens} tokens, rows of ${rowTokens}: text ${describe(outcome.text)}; page ${describe(outcome.html)}`,
      );
      return outcome;
    });
    const slowest = (kind: 'text' | 'html'): number => Math.max(...outcomes.map((outcome) => outcome[kind].seconds));
    return {
      summary: { text_seconds: slowest('text'), html_seconds: slowest('html') },
      details: {
        rounds,
        time: 'wall seconds of the whole command, median of the rounds, the slowest of the episodes; cpu_seconds: the least',
        episodes: outcomes,
      },
    };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

type Taken = { readonly seconds: number; readonly cpu_seconds: number; readonly bytes: number };

function measure(runDir: string, id: string, rounds: number): { readonly text: Taken; readonly html: Taken } {
  const page = path.join(runDir, 'page.html');
  const [text, html]: [Taken[], Taken[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    text.push(time(['inspect', runDir, id]));
    html.push({ ...time(['inspect', runDir, id, '--html', page]), bytes: statSync(page).size });
  }
  return { text: summarise(text), html: summarise(html) };
}

function summarise(taken: readonly Taken[]): Taken {
  const seconds = Math.round(median(taken.map((each) => each.seconds)) * 1000) / 1000;
  return { seconds, cpu_seconds: Math.min(...taken.map((each) => each.cpu_seconds)), bytes: taken[0]?.bytes ?? 0 };
}

function time(args: readonly string[]): Taken {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [sayCpu, ajet, ...args], { maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`ajet ${args.join(' ')} failed: ${stderr.toString()}`);
  const [, cpu = 'NaN'] = /cpu ([\d.]+)/.exec(stderr.toString()) ?? [];
  return { seconds: (performance.now() - start) / 1000, cpu_seconds: Number(cpu), bytes: stdout.length };
}

function describe({ seconds, cpu_seconds: cpu, bytes }: Taken): string {
  return `${seconds.toFixed(2)} s (cpu ${cpu.toFixed(2)} s), ${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
