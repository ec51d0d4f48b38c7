import { toOneLine } from '@agentjet/core/text';
import type { Log, LogEntry } from '@agentjet/swarm-server';
import { toChoice } from './commands/read-flags.js';

/**
 * Writes the log of commands that run for long. Each line has the time, the level and the ids of what it is about, and
 * is text or JSON.
 */

type LogFlags = { readonly json?: boolean; readonly logFormat?: string };

/** Creates the log of a command. With --json, stdout holds only the result, so the log goes to stderr. */
export function createLog(flags: LogFlags, ids: Partial<LogEntry> = {}): Log {
  const format = toChoice(flags.logFormat ?? 'text', '--log-format', ['text', 'json']);
  const stream = flags.json === true ? process.stderr : process.stdout;
  return (entry) => void stream.write(`${formatLogLine({ ...ids, ...defined(entry) }, format, new Date())}\n`);
}

/** Example: `2026-11-27T17:20:31.123Z warn  The episode was lost: outage  run=lake/1 episode=e1 client="my laptop"` */
export function formatLogLine(entry: LogEntry, format: 'text' | 'json', at: Date): string {
  const { level, message, ...ids } = entry;
  const time = at.toISOString();
  if (format === 'json') return JSON.stringify({ time, level, message, ...ids });
  const known = Object.entries(ids).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quote(value)}`],
  );
  const shown = known.length === 0 ? '' : `  ${known.join(' ')}`;
  return `${time} ${level.padEnd(5)} ${toOneLine(message)}${shown}`;
}

const quote = (value: string): string => (/^[\w./:@~-]+$/.test(value) ? value : JSON.stringify(toOneLine(value)));

/** Removes the undefined ids of an entry, so that they do not replace the ids of the command. */
const defined = (entry: LogEntry): LogEntry =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined)) as LogEntry;
