import { describe, expect, it } from 'vitest';
import { totalTimes } from '../page-logic/step-times.js';
import { episodeTimes } from './episode-times.js';
import { sumEpisodeTimes, toSystemPoints } from './view-system.js';

const row = (step: number, seconds: number, cpu: number) => ({
  time: new Date(1e12 + seconds * 1000).toISOString(),
  step,
  rss_mb: 100 + step,
  peak_rss_mb: 200,
  cpu_seconds: cpu,
  disk_free_mb: 1024,
});

describe('the system view', () => {
  it('has the newest row of each step, and no time across a resumption', () => {
    const points = toSystemPoints([row(1, 0, 2), row(2, 10, 17), row(3, 15, 20), { torn: true }, row(3, 100, 1)]);
    expect(points.map(({ step, wallSeconds, cores }) => [step, wallSeconds, cores])).toEqual([
      [1, null, null],
      [2, 10, 1.5],
      [3, 90, null],
    ]);
  });

  it('says what took the time of a run, and what no phase measured', () => {
    const steps = [1, 2].map((step) => ({ step, seconds_sampling: 3, seconds_training: 2 }));
    const { points } = { points: toSystemPoints([row(1, 0, 0), row(2, 9, 1)]) };
    const evaluations = [
      { step: 0, seconds: 7 },
      { step: 1, seconds: 1 },
    ];
    expect(totalTimes({ steps, evaluations }, { points })).toEqual([
      ['sampling', 6],
      ['training', 4],
      ['evaluation', 8],
      ['rest', 3],
    ]);
  });

  it('adds up the calls, tools and judges of episodes', () => {
    const times = { began_ms: 0, waited_ms: 1000, prompt_ms: 500, sampling_ms: 2000, ended_ms: 4000 };
    const record = {
      seconds: 10,
      seconds_judging: 1,
      turns: [{ agent_name: 'a', index: 0, times }],
      spans: [{ name: 'search', began_ms: 4000, ended_ms: 6000 }],
    };
    const { parts, timed, episodes } = sumEpisodeTimes([record, { seconds: 1 }]);
    expect([episodes, timed]).toEqual([2, 1]);
    expect(parts).toEqual({
      waiting: 1,
      prompt: 0.5,
      sampling: 2,
      answering: 0.5,
      untrained: 0,
      spans: 2,
      judging: 1,
      rest: 4,
    });
    expect(episodeTimes(record).map(({ lane, kind, beganMs, endedMs }) => [lane, kind, beganMs, endedMs])).toEqual([
      ['episode', 'episode', 0, 10_000],
      ['a', 'call', 0, 4000],
      ['search', 'span', 4000, 6000],
      ['judge', 'judge', 9000, 10_000],
    ]);
  });
});
