import { existsSync, statSync } from 'node:fs';
import type openSql from 'sql.js';
import type { Database } from 'sql.js';
import { ConfigError, isJsonObject, parseJsonObject, TaskError, toErrorMessage } from '@agentjet/core';
import { textOf } from './exported-traces.js';
import { readPythonLiteral } from './python-literal.js';
import { readSpans, type Span } from './span-traces.js';
import type { Trace } from './trace.js';

/**
 * Reads the database of AgentScope Studio, a SQLite file with a row for each span. Some of its versions nest
 * attributes, and in the first version a message is the text that Python prints for it.
 */

const magic = 'SQLite format 3\0';

export function isSqlite(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, magic.length)).toString('latin1') === magic;
}

/** Returns the traces of a database. Throws TaskError `bad_trace`, and ConfigError `missing_package`. */
export async function readStudioTraces(bytes: Uint8Array, file: string): Promise<readonly Trace[]> {
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0)
    throw bad(file, 'is in use: its newest spans are still in the file with the ending -wal. Stop the studio first');
  const SQL = await loadSql();
  const rows = readRows(SQL, bytes, file);
  const spans = rows.map(readRow).toSorted((left, right) => (left.endedAt < right.endedAt ? -1 : 1));
  return readSpans(spans);
}

type Sql = Awaited<ReturnType<typeof openSql>>;

/** Loads the optional package sql.js. It is optional because it takes 30 MB. */
async function loadSql(): Promise<Sql> {
  try {
    return await (await import('sql.js')).default();
  } catch (error) {
    throw new ConfigError(
      'missing_package',
      'A SQLite file of traces needs the package sql.js, which is not installed. Run: npm install sql.js',
      { cause: error },
    );
  }
}

type Row = Readonly<Record<string, unknown>>;

function readRows(SQL: Sql, bytes: Uint8Array, file: string): readonly Row[] {
  const copy = Uint8Array.from(bytes);
  copy.fill(1, 18, 20); // turns off the write-ahead log, which a copy in memory cannot have
  let database: Database | undefined;
  try {
    database = new SQL.Database(copy);
    const tables = (database.exec("SELECT name FROM sqlite_master WHERE type = 'table'")[0]?.values ?? []).flat();
    if (!tables.includes('span_table'))
      throw bad(
        file,
        `has no table span_table as AgentScope Studio has; its tables are ${tables.join(', ') || 'none'}`,
      );
    const [found] = database.exec('SELECT * FROM span_table');
    const { columns = [], values = [] } = found ?? {};
    return values.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])));
  } catch (error) {
    throw error instanceof TaskError ? error : bad(file, `cannot be read as SQLite: ${toErrorMessage(error)}`, error);
  } finally {
    database?.close();
  }
}

function readRow(row: Row): Span & { readonly endedAt: string } {
  const attributes = flatten(typeof row['attributes'] === 'string' ? parseJsonObject(row['attributes']) : undefined);
  return {
    trace: textOf(row['traceId']) ?? '',
    id: textOf(row['spanId'] ?? row['id']) ?? '',
    name: textOf(row['name']) ?? '',
    conversation: textOf(row['runId'] ?? row['run_id']),
    attributes: { ...functionMessages(attributes), ...attributes },
    // Both forms sort as strings: nanoseconds, which all have the same number of digits, and ISO 8601.
    endedAt: textOf(row['endTimeUnixNano'] ?? row['endTime']) ?? '',
  };
}

/** The arguments and results of AgentScope's functions. These values are not flattened. */
const wholes = ['input', 'output', 'agentscope.function.input', 'agentscope.function.output'];

function flatten(value: unknown, prefix = ''): Record<string, unknown> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const path = prefix === '' ? name : `${prefix}.${name}`;
      return isJsonObject(inner) && !wholes.includes(path) ? Object.entries(flatten(inner, path)) : [[path, inner]];
    }),
  );
}

/**
 * Returns the question and the answer of a function `reply(msg)` as attributes with the names of the `gen_ai.*`
 * conventions.
 */
function functionMessages(attributes: Row): Row {
  const input = attributes['agentscope.function.input'] ?? attributes['input'];
  const output = attributes['agentscope.function.output'] ?? attributes['output'];
  const { args, kwargs } = isJsonObject(input) ? input : {};
  const given = isJsonObject(kwargs) && 'msg' in kwargs ? kwargs['msg'] : Array.isArray(args) ? args[0] : undefined;
  if (given === undefined || output === undefined) return {};
  return { 'gen_ai.input.messages': toMessage(given), 'gen_ai.output.messages': toMessage(output) };
}

const toMessage = (value: unknown): unknown => (typeof value === 'string' ? readPythonLiteral(value) : value);

function bad(file: string, what: string, cause?: unknown): TaskError {
  return new TaskError('bad_trace', `${file} ${what}.`, { cause });
}
