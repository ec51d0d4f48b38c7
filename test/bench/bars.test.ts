import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/** What tasks, judges, environments and the sandbox are to show, in the results that are kept. */

const read = (name: string): Readonly<Record<string, unknown>> =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, 'results', `${name}.json`), 'utf8'));

describe('the kept results meet their bars', () => {
  it('a million tasks open in 10 s, the next time in 1 s, in 300 MB', () => {
    const { rows, first_open_ms: first, next_open_ms: next, rss_added_mb: memory } = read('tasks');
    expect(rows).toBe(1_000_000);
    expect(Number(first)).toBeLessThanOrEqual(10_000);
    expect(Number(next)).toBeLessThanOrEqual(1000);
    expect(Number(memory)).toBeLessThan(300);
  });

  it('and so do a million rows of Parquet', () => {
    type Opening = { readonly open_ms: number; readonly first_task_ms: number; readonly rss_added_mb: number };
    const { first, next } = read('tasks')['parquet'] as { readonly first: Opening; readonly next: Opening };
    expect(first.open_ms + first.first_task_ms).toBeLessThanOrEqual(10_000);
    expect(next.open_ms + next.first_task_ms).toBeLessThanOrEqual(1000);
    expect(Math.max(first.rss_added_mb, next.rss_added_mb)).toBeLessThan(300);
  });

  it('10,000 calls of judges: no reward without a verdict, none from a candidate, none asked twice', () => {
    const judges = read('judges');
    expect(judges).toMatchObject({
      rewards_without_verdict: 0,
      candidate_text_outside_json: 0,
      verdicts_taken_from_candidate: 0,
      repeated_after_resume: 0,
    });
    expect(Number(judges['calls'])).toBeGreaterThanOrEqual(10_000);
  });

  it.each(['in_process', 'agentjet', 'openenv', 'mcp', 'appworld'])(
    '1,000 sessions of %s: none leaked, no step twice',
    (protocol) => {
      const result = read('environments')[protocol] as Readonly<Record<string, number>>;
      expect(result).toMatchObject({ leaked: 0, steps_twice: 0 });
      expect(result['sessions']).toBeGreaterThanOrEqual(1000);
    },
  );

  it('no code left the sandbox', () => {
    expect(read('sandbox')).toMatchObject({ escaped: 0, skipped: [] });
  });
});
