import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { FrameworkRow } from '../../frameworks/table.js';

/** The frameworks and harnesses that nightly jobs try, as their kept results say. */
export type KeptTables = {
  readonly frameworks: Readonly<Record<string, FrameworkCell>>;
  /** True, or why a harness does not work or was not tried. */
  readonly harnesses: Readonly<Record<string, true | string>>;
};
type FrameworkCell =
  | { readonly version: string; readonly works: true }
  | { readonly version: string; readonly works: false; readonly complaints: readonly string[] }
  | { readonly not_tried: string };

type ProgramResult = { readonly skipped?: string; readonly complaints?: readonly string[] };

/** Cases of test/frameworks that are harnesses and no frameworks. */
const sdkHarnesses = ['claude-agent-sdk', 'codex-sdk'];

export function readKeptTables(results: string): KeptTables {
  const { frameworks = {} } = read<{ readonly frameworks?: Readonly<Record<string, FrameworkRow>> }>(
    path.join(results, 'frameworks.json'),
  );
  const { programs = {} } = read<{ readonly programs?: Readonly<Record<string, ProgramResult>> }>(
    path.join(results, 'programs.json'),
  );
  const rows = Object.entries(frameworks);
  const agents = Object.entries(programs).filter(([name]) => name.startsWith('acp '));
  return {
    frameworks: Object.fromEntries(
      rows.filter(([name]) => !sdkHarnesses.includes(name)).map(([name, row]) => [name, toCell(row)]),
    ),
    harnesses: Object.fromEntries([
      ...agents.map(([name, result]) => [name, whyProgramFailed(result)] as const),
      ...rows.filter(([name]) => sdkHarnesses.includes(name)).map(([name, row]) => [name, whyFailed(row)] as const),
    ]),
  };
}

const read = <T>(file: string): Partial<T> =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<T>) : {};

function toCell(row: FrameworkRow): FrameworkCell {
  if ('not_tried' in row) return { not_tried: row.not_tried };
  const { version } = row;
  return row.works ? { version, works: true } : { version, works: false, complaints: row.complaints };
}

const whyFailed = (row: FrameworkRow): true | string =>
  'not_tried' in row ? `not tried: ${row.not_tried}` : row.works ? true : row.complaints.join('; ');

const whyProgramFailed = ({ skipped, complaints = [] }: ProgramResult): true | string =>
  skipped !== undefined ? `not tried: ${skipped}` : complaints.length === 0 ? true : complaints.join('; ');
