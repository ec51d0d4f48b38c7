import { isUtf8 } from 'node:buffer';
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isAtif } from '@agentjet/atif';
import { isJsonObject, parseJson, TaskError } from '@agentjet/core';
import { checkTaskFile, jsonlRows } from '@agentjet/data/tables';
import { isSilentEpisode, readAtifTraces, readExportedTrace, textOf } from './exported-traces.js';
import { isOtlp, readOtlpTraces } from './otlp-traces.js';
import { isSqlite, readStudioTraces } from './studio-traces.js';
import { readFeedback, type Feedback, type Trace } from './trace.js';

/** The maximum size of a file with one JSON value, which is read as a whole. */
const mostBytes = 256 * 2 ** 20;

/**
 * Reads traces from files: OTLP as JSON (whole, or one export per line), the database of AgentScope Studio, JSON Lines
 * of other tools, ATIF documents, and the conversations of run folders. The same answer in two files counts once. If
 * `hasOwnFeedback` is not false, the feedback that `ajet serve --conversations` keeps next to transcripts is added to them.
 * Throws TaskError with file and line.
 */
export async function readTraces(
  files: readonly string[],
  { hasOwnFeedback = true }: { readonly hasOwnFeedback?: boolean } = {},
): Promise<readonly Trace[]> {
  const traces = new Map<string, Trace>();
  const servedIn = new Map<string, string>();
  for (const file of files) {
    const feedback = hasOwnFeedback ? findFeedback(file) : undefined;
    const own = await readFileTraces(file);
    // Ids are unique only inside a folder, so its feedback is added before ids are changed.
    for (const read of feedback === undefined ? own : await addFeedback(own, feedback)) {
      const trace = withOwnId(read, traces);
      if (feedback !== undefined) servedIn.set(trace.id, feedback);
      const earlier = traces.get(trace.id);
      traces.set(
        trace.id,
        earlier === undefined ? trace : { ...earlier, feedback: { ...earlier.feedback, ...trace.feedback } },
      );
    }
  }
  return newestOfCalls([...traces.values()], servedIn);
}

/**
 * Gives the trace a unique id. Some tools number their traces from 1, so if another question or answer has the same
 * id, the trace gets an id such as `1#2`.
 */
function withOwnId(trace: Trace, known: ReadonlyMap<string, Trace>): Trace {
  const said = JSON.stringify([trace.messages, trace.answer]);
  for (let at = 1; ; at++) {
    const id = at === 1 ? trace.id : `${trace.id}#${at}`;
    const earlier = known.get(id);
    if (earlier !== undefined && JSON.stringify([earlier.messages, earlier.answer]) !== said) continue;
    return { ...trace, id, conversation: trace.conversation === trace.id ? id : trace.conversation };
  }
}

/** Returns the file with the feedback that `ajet serve --conversations` keeps next to transcripts. */
function findFeedback(source: string): string | undefined {
  const transcripts = fileOf(source);
  const file = path.join(path.dirname(transcripts), 'feedback.jsonl');
  return path.basename(transcripts) === 'transcripts.jsonl' && existsSync(file) ? file : undefined;
}

/** Returns the file of a source. A run folder has its conversations in `transcripts.jsonl`. */
function fileOf(source: string): string {
  return existsSync(source) && statSync(source).isDirectory() ? path.join(source, 'transcripts.jsonl') : source;
}

async function readFileTraces(source: string): Promise<readonly Trace[]> {
  const file = fileOf(source);
  await checkTaskFile(file, mostBytes);
  const bytes = await readFile(file);
  if (isSqlite(bytes)) return readStudioTraces(bytes, file);
  const whole = isUtf8(bytes) ? parseJson(bytes.toString('utf8').replace(/^\ufeff/, '')) : undefined;
  if (isOtlp(whole)) return readOtlpTraces(whole);
  if (isJsonObject(whole) && isAtif(whole)) return readAtifTraces(whole, file);
  if (Array.isArray(whole)) return whole.map((each: unknown, at) => readExportedTrace(each, `${file}: item ${at}`));
  const traces: Trace[] = [];
  for await (const { rows } of jsonlRows.read(file))
    for (const { value, place } of rows) {
      if (isOtlp(value)) traces.push(...readOtlpTraces(value));
      else if (isJsonObject(value) && isAtif(value)) traces.push(...readAtifTraces(value, `${file}:${place}`));
      else if (!isSilentEpisode(value)) traces.push(readExportedTrace(value, `${file}:${place}`));
    }
  return traces;
}

/**
 * Returns the newest trace of each question. An agent that calls its model several times for one question makes several
 * spans, and the last span has the answer. Served conversations of different folders are apart.
 */
function newestOfCalls(traces: readonly Trace[], servedIn: ReadonlyMap<string, string>): readonly Trace[] {
  const newest = new Map<string, Trace>();
  for (const trace of traces) {
    const users = trace.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    const key = JSON.stringify([trace.conversation, users, servedIn.get(trace.id)]);
    const earlier = newest.get(key);
    newest.delete(key); // so that `set` moves the question to the end of the map
    newest.set(key, { ...trace, feedback: { ...earlier?.feedback, ...trace.feedback } });
  }
  return [...newest.values()];
}

/**
 * Adds feedback from a separate file. Its lines have `id` (or `trace_id`), or `conversation_id` for the last answer.
 */
export async function addFeedback(traces: readonly Trace[], file: string): Promise<readonly Trace[]> {
  const found = new Map<string, Feedback>();
  for await (const { rows } of jsonlRows.read(file))
    for (const { value, place } of rows) {
      const { key, feedback } = readFeedbackLine(value, `${file}:${place}`);
      found.set(key, { ...found.get(key), ...feedback });
    }
  const lastOf = new Map(traces.map(({ conversation, id }) => [conversation, id]));
  return traces.map((trace) => {
    const isLast = lastOf.get(trace.conversation) === trace.id;
    const given = { ...(isLast && found.get(`conversation ${trace.conversation}`)), ...found.get(`trace ${trace.id}`) };
    return { ...trace, feedback: { ...trace.feedback, ...given } };
  });
}

function readFeedbackLine(value: unknown, where: string): { readonly key: string; readonly feedback: Feedback } {
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const feedback = { ...readFeedback(fields), ...readFeedback(fields['feedback']) };
  const id = textOf(fields['id'] ?? fields['trace_id'] ?? fields['episode_id']);
  const conversation = textOf(fields['conversation_id'] ?? fields['session_id']);
  const hasFeedback = Object.keys(feedback).length > 0;
  if (hasFeedback && id !== undefined) return { key: `trace ${id}`, feedback };
  if (hasFeedback && conversation !== undefined) return { key: `conversation ${conversation}`, feedback };
  throw new TaskError(
    'bad_feedback',
    `${where} ${hasFeedback ? 'names no answer' : 'has no feedback'}. Write { "id" | "conversation_id", "thumb": "up" | "down", "score", "correction" }.`,
  );
}
