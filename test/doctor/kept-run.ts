import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

/** A kept run: one compressed file with the text of the files that a doctor reads. */
export type KeptRun = {
  /** The planted cause. Null for a healthy run. */
  readonly cause: string | null;
  /** How the run was made. */
  readonly origin: string;
  readonly files: Readonly<Record<string, string>>;
};

export const recordsDir = path.join(import.meta.dirname, 'records');
const maxBytes = 200_000;

export const keptNames = (): readonly string[] =>
  readdirSync(recordsDir)
    .filter((name) => name.endsWith('.json.gz'))
    .map((name) => name.slice(0, -'.json.gz'.length))
    .toSorted();

export const readKept = (name: string): KeptRun =>
  JSON.parse(gunzipSync(readFileSync(path.join(recordsDir, `${name}.json.gz`))).toString()) as KeptRun;

/** Writes the files of a kept run into a folder, which is then a run folder. */
export function unpack({ files }: KeptRun, folder: string): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

/** Keeps a run folder under a name. Two numbers represent the tokens of a sample: equal tokens have equal numbers. */
export function keepRun(
  runDir: string,
  {
    name,
    cause,
    origin,
    dir = recordsDir,
  }: { readonly name: string; readonly cause: string | null; readonly origin: string; readonly dir?: string },
): number {
  const top = ['config.yaml', 'metrics.jsonl', 'evaluations.jsonl', 'rules.json', 'tasks.json'];
  const episodes = readdirSync(path.join(runDir, 'episodes')).filter(
    (file) => file.endsWith('.jsonl') && !file.includes('index'),
  );
  const read = (file: string): string => withoutFolders(readFileSync(path.join(runDir, file), 'utf8'));
  const files = {
    ...Object.fromEntries(top.filter((file) => readdirSync(runDir).includes(file)).map((file) => [file, read(file)])),
    ...Object.fromEntries(episodes.toSorted().map((file) => [`episodes/${file}`, slim(read(`episodes/${file}`))])),
  };
  const bytes = gzipSync(JSON.stringify({ cause, origin, files } satisfies KeptRun), { level: 9 });
  if (bytes.length > maxBytes) throw new Error(`${name} has ${bytes.length} bytes; at most ${maxBytes} are kept.`);
  mkdirSync(dir, { recursive: true });
  writeFileSync(path.join(dir, `${name}.json.gz`), bytes);
  return bytes.length;
}

/** Removes the folders of the machine that made the run. */
const withoutFolders = (text: string): string =>
  text
    .replaceAll(/(?<![\w.])\/[\w./-]*\/(tutorial|tasks)\//g, '$1/')
    .replaceAll(/(?<![\w.])\/(tmp|work|home|root)\/[\w./-]*/g, 'folder');

type Line = { readonly samples: readonly { readonly ids: readonly number[] }[]; readonly turns: readonly object[] };

function hashOf(ids: readonly number[]): readonly number[] {
  const hash = createHash('sha256').update(JSON.stringify(ids)).digest();
  return [hash.readUInt32LE(0), hash.readUInt32LE(4)];
}

const slim = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const record = JSON.parse(line) as Line;
      const turns = record.turns.map((turn) => ({ ...turn, parts: [], turn_id: undefined, foreign_messages: {} }));
      return `${JSON.stringify({ ...record, turns, samples: record.samples.map(({ ids }) => ({ ids: hashOf(ids) })), untrained_calls: undefined })}\n`;
    })
    .join('');
