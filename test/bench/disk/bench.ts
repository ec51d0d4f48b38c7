/**
 * What happens if a disk of a swarm's server is full? For ends of each size, the benchmark fills the disk of the ledger
 * and then the disk of the run folder. The server must not abort, must keep every end that it acknowledged, must accept
 * ends while the ledger has room, must name the reason, and must continue automatically when there is room. The disks
 * are small tmpfs mounts, so the benchmark needs Linux and the right to mount in a namespace.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type BenchOptions, type BenchResult, numberOption, type OptionTexts } from '../bench.js';
import { lastLine } from '../../releases/run-node.js';

const sizes = [1000, 16_000, 200_000, 2_000_000];

type Row = {
  readonly bytes: number;
  readonly aborts: number;
  readonly acknowledged: number;
  readonly acknowledged_lost: number;
  readonly refused_after_room: number;
  readonly refused_by_full_run_folder: number;
  readonly reason_named: boolean;
  readonly training_resumed: boolean;
};

export const optionTexts: OptionTexts = { '--size <bytes>': 'measures ends of one size' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const only = args.includes('--size') ? [numberOption(args, '--size', 1000)] : sizes;
  const rows: Row[] = [];
  for (const bytes of only) {
    const row = await fill(bytes);
    report(JSON.stringify(row));
    rows.push(row);
  }
  const sum = (of: (row: Row) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return {
    summary: {
      sizes: only,
      aborts: sum(({ aborts }) => aborts),
      acknowledged_lost: sum(({ acknowledged_lost }) => acknowledged_lost),
      refused_with_room: sum((row) => row.refused_after_room + row.refused_by_full_run_folder),
      reason_named: rows.every(({ reason_named }) => reason_named),
      training_resumed: rows.every(({ training_resumed }) => training_resumed),
    },
    details: { rows },
  };
}

async function fill(bytes: number): Promise<Row> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-disk-'));
  const tsx = path.resolve(import.meta.dirname, '../../../node_modules/tsx/dist/loader.mjs');
  const script = path.join(import.meta.dirname, 'fill-disks.ts');
  const command = ['--user', '--map-root-user', '--mount', process.execPath, '--import', tsx, script];
  try {
    const { stdout } = await promisify(execFile)('unshare', [...command, String(bytes), dir], { maxBuffer: 2 ** 24 });
    return JSON.parse(lastLine(stdout)) as Row;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
