import { createReadStream } from 'node:fs';
import { BackboneError, tellOlderFormat } from '@agentjet/core';
import { toEpisodeRow, type EpisodeRow } from './episode-row.js';
import { placeOf } from './hash-tokens.js';
import { parseHead, parseTurns } from './parse-head.js';

/** Returns the rows of the complete lines of an episodes file from `from` on. Only the heads of lines are parsed. */
export async function scanRows(file: string, from: number, kindField: string | null): Promise<readonly EpisodeRow[]> {
  const rows: EpisodeRow[] = [];
  for await (const { offset, line } of readLines(file, from)) rows.push(toRow(line, { file, offset, kindField }));
  return rows;
}

type Place = { readonly file: string; readonly offset: number; readonly kindField: string | null };

function toRow(line: Buffer, { file, offset, kindField }: Place): EpisodeRow {
  const place = `${file} at byte ${offset}`;
  const head = parseHead(line);
  if (head === undefined || typeof head.fields['episode_id'] !== 'string')
    throw new BackboneError('run_folder', `${place} is not an episode. Remove that line.`);
  const { fields } = head;
  if (fields['phase'] === undefined || typeof fields['step'] !== 'number')
    throw new BackboneError('older_format', tellOlderFormat(place));
  const known = fields['agents'] === undefined ? { turns: parseTurns(line, head), ...fields } : fields;
  return toEpisodeRow(known, placeOf(line, { offset, length: line.length }), kindField);
}

/** Yields the complete lines from byte `from` on. */
async function* readLines(
  file: string,
  from: number,
): AsyncGenerator<{ readonly offset: number; readonly line: Buffer }> {
  let pieces: Buffer[] = [];
  let offset = from;
  for await (const chunk of createReadStream(file, { start: from, highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const last = chunk.subarray(start, end);
      const line = pieces.length === 0 ? last : Buffer.concat([...pieces, last]);
      yield { offset, line };
      offset += line.length + 1;
      pieces = [];
      start = end + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
}

const newline = 10;
