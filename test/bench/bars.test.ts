import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/** Checks the kept results of the benchmarks. */

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

  it('every bad reward is named, half of twelve by others, and no sound one gets an alarm', () => {
    const { audit, bad_by_others: byOthers } = read('audit');
    expect(audit).toMatchObject({ false_alarms: 0 });
    const { bad, named, sound } = audit as Readonly<Record<string, number>>;
    expect(named).toBe(bad);
    expect(Math.min(Number(bad), Number(sound))).toBeGreaterThanOrEqual(12);
    expect(byOthers).toBeGreaterThanOrEqual(6);
  });

  it('no code left the sandbox or exceeded its limits, and honest code finished', () => {
    const { finished, escapes_tried: escapes, exhaustions_tried: exhaustions, ...result } = read('sandbox');
    expect(result).toMatchObject({ escaped: 0, over_limit: 0, honest: finished, skipped: [] });
    expect([Number(escapes) >= 60, Number(exhaustions) >= 40, Number(finished) >= 40]).toEqual([true, true, true]);
  });

  it('no estimate of memory is below the measured peak, nor more than a fifth above it', () => {
    const { measured } = read('memory') as { readonly measured: readonly Estimate[] };
    expect(measured.length).toBeGreaterThanOrEqual(13);
    for (const { case: name, predicted_bytes: predicted, measured_bytes: peak } of measured) {
      expect(predicted / peak, name).toBeGreaterThanOrEqual(1);
      expect(predicted / peak, name).toBeLessThanOrEqual(1.2);
    }
  });

  it.each(['langgraph', 'openai', 'ai-sdk', 'openai-agents', 'react'])(
    'what `ajet init --framework %s` writes learns in ten steps',
    (framework) => {
      expect(read('first-hour')).toMatchObject({ [framework]: { learned: true }, steps: 10 });
    },
  );

  it('claims and ends of the swarm take at most 3 times an echo, a call gains at most 2', () => {
    const { claim, end, call } = read('swarm')['cpu_over_echo'] as Readonly<Record<string, number>>;
    expect(claim).toBeLessThanOrEqual(3);
    expect(end).toBeLessThanOrEqual(3);
    expect(call).toBeLessThanOrEqual(2);
  });

  it('the swarm answers 278 calls of chat and 100 of coders a second', () => {
    const { chat, coder } = read('swarm')['mixes'] as Readonly<Record<string, { readonly calls_per_second: number }>>;
    expect(chat?.calls_per_second).toBeGreaterThanOrEqual(278);
    expect(coder?.calls_per_second).toBeGreaterThanOrEqual(100);
  });

  it('a swarm server is back 3 s after SIGKILL, and what is made again comes on top; nothing acknowledged is lost', () => {
    const { restart, redo, ...swarm } = read('swarm') as SwarmResult;
    expect(restart).toMatchObject({ episodes: 10_000, calls: 100_000 });
    expect(restart.seconds).toBeLessThanOrEqual(3);
    expect(redo.start_with_redo_seconds).toBeLessThanOrEqual(3 + redo.seconds);
    expect(swarm.agentlightning.ours).toMatchObject({ acknowledged: 1000, left_after_sigkill: 1000 });
  });

  it('no share of tasks is ever a whole group from its part', () => {
    expect(read('shares')['max_group_error']).toBeLessThan(1);
  });

  it('10,000 hostile requests: none let in, no crash', () => {
    expect(read('hostile')).toMatchObject({ requests: 10_000, let_in: 0, crashes: 0 });
  });
});

type Estimate = { readonly case: string; readonly predicted_bytes: number; readonly measured_bytes: number };

type SwarmResult = {
  readonly restart: { readonly seconds: number };
  readonly redo: { readonly seconds: number; readonly start_with_redo_seconds: number };
  readonly agentlightning: { readonly ours: unknown };
};
