import { parseJson, parseJsonObject, type JsonObject } from '@agentjet/core';

/**
 * The fields of an episode's line before its turns and samples. Most bytes of a line are token ids, so a head is parsed
 * many times faster than its line.
 */
export type LineHead = { readonly fields: JsonObject; readonly end: number };

const turnsMark = ',"turns":[';
const samplesMark = ',"samples":[';

/**
 * Parses the head of a line. A line without turns is parsed as a whole. Returns undefined if the line is not a JSON
 * object.
 */
export function parseHead(line: Buffer): LineHead | undefined {
  // A quote inside a string is escaped, so the mark can only be a key. It may be a key of a nested object, and then the
  // head is not JSON.
  for (let end = line.indexOf(turnsMark); end !== -1; end = line.indexOf(turnsMark, end + 1)) {
    const fields = parseJsonObject(`${line.toString('utf8', 0, end)}}`);
    if (fields !== undefined) return { fields: withGroup(fields, line), end };
  }
  const { samples: _samples, ...fields } = parseJsonObject(line.toString()) ?? {};
  return Object.keys(fields).length === 0 ? undefined : { fields, end: line.length };
}

/** The turns of a line whose head is known. Empty if it has none. */
export function parseTurns(line: Buffer, { end }: LineHead): readonly unknown[] {
  for (let at = line.indexOf(samplesMark, end); at !== -1; at = line.indexOf(samplesMark, at + 1)) {
    const turns = parseJson(line.toString('utf8', end + turnsMark.length - 1, at));
    if (Array.isArray(turns)) return turns;
  }
  return [];
}

/** Adds the group to the fields. Lines of older evaluations have their group at the end. */
function withGroup(fields: JsonObject, line: Buffer): JsonObject {
  if (fields['group_id'] !== undefined) return fields;
  const tail = line.toString('utf8', Math.max(0, line.length - maxGroupBytes));
  const written = /,"group_id":("(?:[^"\\]|\\.)*")\}$/.exec(tail)?.[1];
  return written === undefined ? fields : { ...fields, group_id: parseJson(written) };
}

const maxGroupBytes = 4096;
