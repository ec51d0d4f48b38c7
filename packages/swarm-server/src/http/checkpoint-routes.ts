import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { Hono } from 'hono';
import { checkpointName } from '@agentjet/run-folder';
import {
  checkpointQuerySchema,
  parseStrings,
  rangeHeaders,
  WireError,
  type CheckpointsAnswer,
} from '@agentjet/swarm-wire';
import type { Door } from './door.js';

/** Serves checkpoints and their files. It serves only files that it has listed, so a request cannot name a path. */
export function addCheckpoints(base: Hono, door: Door, dirs: CheckpointDirs = {}): void {
  base.get(
    '/checkpoints',
    door.read('commander', async () => ({ checkpoints: listAll(dirs) }) satisfies CheckpointsAnswer),
  );
  base.get(
    '/checkpoints/:step/:file{.+}',
    door.raw('commander', async (_swarm, { req }) => {
      const { step = '', file = '' } = req.param() as Readonly<Record<string, string>>;
      const { policy = '' } = parseStrings(checkpointQuerySchema, req.query());
      const dir = dirs[policy];
      const found = listCheckpoints(dir).find((each) => String(each.step) === step);
      const listed = found?.files.find(({ name }) => name === file);
      if (dir === undefined || found === undefined || listed === undefined)
        throw new WireError(
          'unknown_route',
          `There is no file ${JSON.stringify(file)} of a checkpoint of step ${step}${policy === '' ? sayPolicies(dirs) : ` of the policy "${policy}"`}.`,
        );
      return respondFile(
        path.join(dir, checkpointName(found.step), listed.name),
        listed.bytes,
        parseStrings(rangeHeaders, req.header()).range,
      );
    }),
  );
}

/** Folders of checkpoints by policy. A run with one policy has its folder under the empty name. */
export type CheckpointDirs = Readonly<Record<string, string>>;

function listAll(dirs: CheckpointDirs): CheckpointsAnswer['checkpoints'] {
  return Object.entries(dirs).flatMap(([policy, dir]) =>
    listCheckpoints(dir).map((each) => ({ ...each, ...(policy !== '' && { policy }) })),
  );
}

const sayPolicies = (dirs: CheckpointDirs): string =>
  dirs[''] === undefined && Object.keys(dirs).length > 0
    ? `: name the policy, ${Object.keys(dirs).join(' or ')}, with "?policy="`
    : '';

function listCheckpoints(dir: string | undefined): CheckpointsAnswer['checkpoints'] {
  if (dir === undefined || !existsSync(dir)) return [];
  const names = readdirSync(dir).filter((name) => /^step-\d{6,}$/.test(name));
  return names
    .map((name) => ({ step: Number(name.slice('step-'.length)), files: listFiles(path.join(dir, name)) }))
    .sort((a, b) => a.step - b.step);
}

/** Includes files of subfolders, such as `trainer_state/`. */
function listFiles(dir: string): CheckpointsAnswer['checkpoints'][number]['files'] {
  const names = readdirSync(dir, { recursive: true }).map((name) => String(name).split(path.sep).join('/'));
  return names
    .map((name) => ({ name, stats: statSync(path.join(dir, name)) }))
    .filter(({ stats }) => stats.isFile())
    .map(({ name, stats }) => ({ name, bytes: stats.size }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function respondFile(file: string, size: number, header: string | undefined): Response {
  const range = header === undefined ? undefined : parseRange(header, size);
  if (range === null) return new Response(null, { status: 416, headers: { 'content-range': `bytes */${size}` } });
  const { start, end } = range ?? { start: 0, end: size - 1 };
  const body =
    size === 0 ? null : (Readable.toWeb(createReadStream(file, { start, end })) as ReadableStream<Uint8Array>);
  return new Response(body, {
    status: range === undefined ? 200 : 206,
    headers: {
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      'content-length': String(size === 0 ? 0 : end - start + 1),
      ...(range !== undefined && { 'content-range': `bytes ${start}-${end}/${size}` }),
    },
  });
}

/**
 * Returns the range that the header asks for. Returns null if the file does not have these bytes, and undefined for a
 * header in another form, which is ignored.
 */
function parseRange(header: string, size: number): { readonly start: number; readonly end: number } | null | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return start > end ? null : { start, end };
}
