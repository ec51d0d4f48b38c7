import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  decodeRecord,
  encodeRecord,
  readBootId,
  readFormat,
  writeRawFile,
  type RawEntry,
} from '@agentjet/ledger/testing';
import { writeRandomModelFolder } from '@agentjet/trainer/testing';

/** What the server of an older version left when it was killed, as `keep-store.mjs` keeps it. */
export type KeptStore = {
  readonly format: string;
  /** Of the run folder. */
  readonly name: string;
  /** Base64, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** Template, tokenizer and shapes, base64: what was recorded is replayed with them. */
  readonly model: Readonly<Record<string, string>>;
  readonly ledger: { readonly file: string; readonly entries: readonly RawEntry[] };
  /** What the old server said before it was killed. */
  readonly step: number;
  /** By step: how many generated tokens the old server trained. */
  readonly trainedTokens: readonly number[];
  readonly account: Readonly<Record<string, number>>;
  /** The episode that ended last: it waits for the other place of its group. */
  readonly last: { readonly episode: KeptEpisode; readonly end: object; readonly receipt: object };
  /** The other place: one call has been answered. */
  readonly running: { readonly episode: KeptEpisode; readonly messages: readonly object[]; readonly answer: object };
};

export type KeptEpisode = { readonly episode_id: string; readonly key: string; readonly place: number };

const stores = path.join(import.meta.dirname, 'stores');

export const keptStores = (): readonly KeptStore[] =>
  readdirSync(stores)
    .sort()
    .map((name) => JSON.parse(gunzipSync(readFileSync(path.join(stores, name))).toString()) as KeptStore);

/**
 * Makes the run folder again in `<dir>/kills`, byte for byte as far as the store is concerned, with a model of other weights:
 * models are trained anew. Resolves to the paths of both. The store is one of this start of this machine, since an episode does not
 * outlive a restart of the machine.
 */
export async function restoreStore(
  { name, files, model, ledger }: KeptStore,
  dir: string,
): Promise<{ readonly run: string; readonly modelDir: string }> {
  const [run, modelDir] = [path.join(dir, 'kills', name), path.join(dir, 'model')];
  const textOf = (content = ''): string => Buffer.from(content, 'base64').toString();
  const shapes = JSON.parse(textOf(model['config.json'])) as Readonly<Record<string, unknown>>;
  await writeRandomModelFolder(modelDir, { configJson: shapes, seed: 1 });
  for (const [file, content] of Object.entries(model)) writeFileSync(path.join(modelDir, file), textOf(content));
  mkdirSync(path.join(run, 'ledger'), { recursive: true });
  for (const [file, content] of Object.entries(files))
    writeFileSync(path.join(run, file), textOf(content).replace('path: nano', `path: ${JSON.stringify(modelDir)}`));
  await writeRawFile(path.join(run, 'ledger', ledger.file), ledger.entries.map(startedHere));
  return { run, modelDir };
}

/** The same entry; if it is the record of a recovery, after the number of its commit, it names this start of this machine. */
function startedHere(entry: RawEntry): RawEntry {
  const [lane, at, value] = entry;
  if (lane !== 'events') return entry;
  const bytes = Buffer.from(value, 'base64');
  const record = decodeRecord(bytes.subarray(commitBytes), `${lane} ${at}`);
  if (record.kind !== 'recovered') return entry;
  const present = encodeRecord({ ...record, bootId: readBootId() }, commitBytes);
  bytes.copy(present, 0, 0, commitBytes);
  return [lane, at, present.toString('base64')];
}

const commitBytes = 4;

/** The format that the newest file of the store says it has. */
export async function formatOf(run: string): Promise<string> {
  const file =
    readdirSync(path.join(run, 'ledger'))
      .filter((name) => name.endsWith('.mdb'))
      .sort()
      .at(-1) ?? '';
  return readFormat(path.join(run, 'ledger', file));
}

/** By step, what the run folder says. */
export const trainedTokensOf = (run: string): readonly number[] =>
  readFileSync(path.join(run, 'metrics.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly trained_tokens: number }).trained_tokens);
