import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { curvesOfHistory } from './curves-of-history.js';
import { keepCurves, readCurves, toCellCurve } from './curves.js';
import { drawCurves } from './draw-curves.js';
import { readAllResults } from './releases-page.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'agentjet-curves-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const result = (commit: string, date: string, success: number) => ({
  version: '0.1.0',
  commit,
  date,
  tutorial: 'lake',
  backbone: 'onnx',
  model: 'nano',
  model_sha256: 'a',
  seeds: [{ seed: 1, success_before: 0.1, success_after: 0.9, success_at: { '5': success, '10': null, end: 0.9 } }],
});

it('keeps the curve of a result that a newer one replaces, and draws both', () => {
  keepCurves([toCellCurve(result('new', '2026-02-01', 0.5))], dir);
  keepCurves([toCellCurve(result('old', '2026-01-01', 0.3)), toCellCurve(result('new', '2026-02-01', 0.5))], dir);
  const curves = readCurves([], dir).get('lake.onnx.json') ?? [];
  expect(curves.map(({ commit }) => commit)).toEqual(['old', 'new']);
  const svg = drawCurves('lake', curves);
  expect(svg).toMatch(/2026-02-01, new.*2026-01-01, old/s);
  expect(svg.match(/<polyline/g)).toHaveLength(2);
  expect(svg).toContain('>end</text>');
});

it('reads the results of all commits, and names those that it cannot read', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: dir });
  const file = path.join(dir, 'test/releases/results/0.1.0/lake.onnx.json');
  const commit = (content: unknown) => {
    writeFileSync(file, JSON.stringify(content));
    git('add', '-A');
    git('commit', '-qm', 'keep');
  };
  git('init', '-q');
  mkdirSync(path.dirname(file), { recursive: true });
  commit(result('one', '2026-01-01', 0.3));
  const { success_at: _, ...older } = result('two', '2026-01-02', 0.4).seeds[0] ?? {};
  commit({ ...result('two', '2026-01-02', 0.4), seeds: [older] });
  commit(result('three', '2026-01-03', 0.5));
  const said: string[] = [];
  const curves = curvesOfHistory(dir, (line) => said.push(line));
  expect(curves.map((curve) => curve.commit)).toEqual(['one', 'three']);
  expect(said).toEqual([
    expect.stringMatching(/lake\.onnx\.json at [0-9a-f]{12} is left out: seed 1 has no success_at\./),
  ]);
});

it('the repository keeps a drawing of every cell with several measured results', () => {
  const several = [...readCurves(readAllResults())].filter(([, curves]) => curves.length > 1);
  expect(several.length).toBeGreaterThan(5);
  const drawn = new Set(readdirSync(path.join(import.meta.dirname, 'curves')).filter((name) => name.endsWith('.svg')));
  expect(several.map(([file]) => file.replace('.json', '.svg')).filter((name) => !drawn.has(name))).toEqual([]);
});
