import { expect, it, vi } from 'vitest';
import { createLog, formatLogLine } from './log-lines.js';

const at = new Date('2026-11-27T17:20:31.123Z');
const lost = {
  level: 'warn',
  message: 'The episode was lost:\nlease_expired',
  run: 'lake/1',
  episode: 'e1',
  client: 'a \u001b[31mred\u202e one',
} as const;

it('a line of text has the time, the level and the ids, and no character that controls a terminal', () => {
  expect(formatLogLine(lost, 'text', at)).toBe(
    '2026-11-27T17:20:31.123Z warn  The episode was lost: lease_expired  run=lake/1 episode=e1 client="a ␛[31mred\ufffd one"',
  );
  expect(formatLogLine({ level: 'info', message: 'Ready' }, 'text', at)).toBe('2026-11-27T17:20:31.123Z info  Ready');
});

it('a line of JSON has the same fields', () => {
  const line = formatLogLine({ ...lost, request: 'r1' }, 'json', at);
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({ time: '2026-11-27T17:20:31.123Z', ...lost, request: 'r1' });
});

it('a log adds the ids of its command, and goes to stderr if stdout holds a result', () => {
  const written: string[] = [];
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  try {
    createLog({ json: true, logFormat: 'json' }, { client: 'lab' })({ level: 'info', message: 'x', client: undefined });
  } finally {
    stderr.mockRestore();
  }
  expect(JSON.parse(written.join(''))).toMatchObject({ level: 'info', message: 'x', client: 'lab' });
  expect(() => createLog({ logFormat: 'xml' })).toThrow('--log-format is "xml", not one of: text, json.');
});
