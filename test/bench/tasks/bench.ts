import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { writeParquet } from './write-parquet.js';

/**
 * How long does it take until the first task of a large file is read? Each opening is a fresh process, like a run. The
 * first opening reads and checks every row. Later openings find the index in the cache. The same rows are then opened
 * as a Parquet file. A busy machine makes the figures larger.
 */

const root = path.resolve(import.meta.dirname, '../../..');

type Opening = {
  readonly rows: number;
  readonly open_ms: number;
  readonly first_task_ms: number;
  readonly rss_added_mb: number;
};

export const optionTexts: OptionTexts = { '--rows <n>': 'rows of the files; default 1000000' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const rows = numberOption(args, '--rows', 1_000_000);
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-tasks-'));
  try {
    const jsonl = path.join(dir, 'tasks.jsonl');
    writeLines(jsonl, rows);
    const first = open(jsonl, dir);
    const next = open(jsonl, dir);
    const parquet = path.join(dir, 'tasks.parquet');
    writeParquet(parquet, { rows, rowOf });
    const converted = open(parquet, dir);
    const nextConverted = open(parquet, dir);
    report(`JSONL: ${told(first)}; again: ${told(next)}. Parquet: ${told(converted)}; again: ${told(nextConverted)}`);
    const perSecond = ({ open_ms: ms }: Opening): number => Math.round((rows / ms) * 1000);
    return {
      summary: {
        rows,
        first_open_ms: Math.round(first.open_ms + first.first_task_ms),
        next_open_ms: Math.round(next.open_ms + next.first_task_ms),
        rss_added_mb: Math.round(Math.max(first.rss_added_mb, next.rss_added_mb)),
        rows_per_second: { jsonl: perSecond(first), parquet: perSecond(converted) },
      },
      details: { bytes: statSync(jsonl).size, first, next, parquet: { first: converted, next: nextConverted } },
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function rowOf(at: number) {
  const [sheep, bought] = [at % 9973, (at * 7) % 1013];
  return {
    task_id: `sheep-${at}`,
    main_query: `Farmer number ${at} has ${sheep} sheep and buys ${bought} more. How many sheep are there now?`,
    answer: String(sheep + bought),
  };
}

function writeLines(file: string, rows: number): void {
  const handle = openSync(file, 'w');
  for (let from = 0; from < rows; from += 10_000) {
    const count = Math.min(10_000, rows - from);
    writeSync(handle, Array.from({ length: count }, (_, at) => `${JSON.stringify(rowOf(from + at))}\n`).join(''));
  }
  closeSync(handle);
}

/** Opens it in a fresh process, with the cache in `dir`. */
function open(file: string, dir: string): Opening {
  const text = execFileSync(process.execPath, ['--expose-gc', path.join(import.meta.dirname, 'open-tasks.mjs'), file], {
    cwd: root,
    env: { ...process.env, XDG_CACHE_HOME: path.join(dir, 'cache') },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(text) as Opening;
}

function told({ open_ms: openMs, first_task_ms: firstMs, rss_added_mb: rss }: Opening): string {
  return `${Math.round(openMs + firstMs)} ms to the first task, ${Math.round(rss)} MB more`;
}
