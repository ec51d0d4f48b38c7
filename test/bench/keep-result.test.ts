import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { joinParts, keepResult, readTree, writePart } from './keep-result.js';

let folder = '';
const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, encoding: 'utf8' }).trim();

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bench-tree-'));
  git('init', '-q');
  mkdirSync(path.join(folder, 'test/bench/results'), { recursive: true });
  writeFileSync(path.join(folder, 'source.ts'), 'one');
  writeFileSync(path.join(folder, 'test/bench/results/engine.json'), '{}');
  git('add', '-A');
  git('commit', '-qm', 'first');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the tree that a result is kept for', () => {
  it('is a commit if nothing differs from it', () => {
    expect(readTree(folder)).toEqual({ commit: git('rev-parse', '--short=12', 'HEAD') });
  });

  it('is not a commit if a file was changed or added', () => {
    writeFileSync(path.join(folder, 'source.ts'), 'two');
    expect(readTree(folder)).toMatchObject({ commit: null, problem: expect.stringContaining('(source.ts)') as string });
    git('checkout', '-q', 'source.ts');
    writeFileSync(path.join(folder, 'new.ts'), '');
    expect(readTree(folder)).toMatchObject({ commit: null, problem: expect.stringContaining('(new.ts)') as string });
  });

  it('may hold new results, so that benchmarks can run one after another', () => {
    writeFileSync(path.join(folder, 'test/bench/results/engine.json'), '{"new":1}');
    writeFileSync(path.join(folder, 'test/bench/results/tree.json'), '{}');
    expect(readTree(path.join(folder, 'test/bench'))).toMatchObject({ commit: expect.any(String) as string });
  });

  it('is not a commit outside a repository', () => {
    rmSync(path.join(folder, '.git'), { recursive: true });
    expect(readTree(folder)).toMatchObject({
      commit: null,
      problem: expect.stringContaining('not in a git repository') as string,
    });
  });

  it('is named in the kept result', () => {
    const file = keepResult(folder, { name: 'toy', commit: 'abc' }, { summary: { ratio: 1 }, details: { rounds: 3 } });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ bench: 'toy', commit: 'abc', ratio: 1, rounds: 3 });
  });

  it('keeps the summary if details have a figure of the same name', () => {
    const result = { summary: { mcp: { leaked: 0 } }, details: { mcp: { failed: 3 } } };
    const file = keepResult(folder, { name: 'toy', commit: 'abc' }, result);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ mcp: { leaked: 0 } });
  });

  it('changes only the keys of a part, and says when and where each was measured', () => {
    const whole = { summary: { answers: 1, gradients: 2, tokenizers: 3 }, details: { rounds: 3 } };
    keepResult(folder, { name: 'toy', commit: 'abc' }, whole);
    keepResult(folder, { name: 'toy', commit: 'bcd' }, { summary: { answers: 4 }, details: {}, isPart: true });
    const part = { summary: { gradients: 5 }, details: { rounds: 9 }, isPart: true };
    const file = keepResult(folder, { name: 'toy', commit: 'cde' }, part);
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { readonly parts: object };
    expect(kept).toMatchObject({ commit: 'abc', rounds: 3, answers: 4, gradients: 5, tokenizers: 3 });
    expect(kept.parts).toEqual({
      answers: expect.objectContaining({ commit: 'bcd', date: expect.any(String) as string }) as object,
      gradients: expect.objectContaining({ commit: 'cde', details: { rounds: 9 } }) as object,
    });
    keepResult(folder, { name: 'toy', commit: 'def' }, whole);
    expect(JSON.parse(readFileSync(file, 'utf8'))).not.toHaveProperty('parts');
  });

  it('refuses a part of a result that was never kept', () => {
    const part = { summary: { answers: 1 }, details: {}, isPart: true };
    expect(() => keepResult(folder, { name: 'toy', commit: 'abc' }, part)).toThrow('Run the whole benchmark first.');
  });

  const part = (out: string, commit: string, summary: Record<string, unknown>, details = {}): string =>
    writePart(path.join(folder, out), { name: 'toy', commit }, { summary, details });

  it('adds a part to those of the same commit in another folder, and replaces those of another commit', () => {
    const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
    part('out', 'abc', { speed: 1 });
    expect(read(part('out', 'abc', { peak: 2 }))).toMatchObject({ bench: 'toy', speed: 1, peak: 2 });
    expect(read(part('out', 'bcd', { peak: 3 }))).not.toHaveProperty('speed');
  });

  it('keeps machine and details of each run if several machines measured a part', () => {
    const files = [1, 2].map((seed) => {
      const file = part(`seed-${seed}`, 'abc', { seeds: [seed], speed: seed }, { load: seed });
      const text = readFileSync(file, 'utf8').replaceAll(/"cpu": ".*"/g, `"cpu": "machine ${seed}"`);
      writeFileSync(file, text);
      return file;
    });
    const joined = joinParts(folder, { name: 'toy', files }, (_part, values) => values.flat());
    const runs = [1, 2].map((seed): unknown =>
      expect.objectContaining({
        machine: expect.objectContaining({ cpu: `machine ${seed}` }),
        details: { load: seed },
      }),
    );
    expect(JSON.parse(readFileSync(joined, 'utf8'))).toMatchObject({ parts: { seeds: runs, speed: runs } });
    const again = joinParts(path.join(folder, 'again'), { name: 'toy', files: [joined] });
    expect(JSON.parse(readFileSync(again, 'utf8'))).toMatchObject({ seeds: [1, 2], parts: { seeds: runs } });
  });

  it('joins parts that other machines measured, and refuses parts of several commits', () => {
    const files = [part('a', 'abc', { speed: 1, seeds: [2] }), part('b', 'abc', { seeds: [1] })];
    const flat = (_part: string, values: readonly unknown[]): unknown => values.flat();
    writeFileSync(path.join(folder, 'toy.json'), JSON.stringify({ bench: 'toy', missing: ['seeds.first', 'memory'] }));
    const file = joinParts(folder, { name: 'toy', files }, flat);
    const joined = { bench: 'toy', speed: 1, seeds: [2, 1], missing: ['memory'] };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject(joined);
    expect(() => joinParts(folder, { name: 'toy', files })).toThrow('cannot join');
    expect(() => joinParts(folder, { name: 'other', files }, flat)).toThrow('not a result of the benchmark other');
    const other = part('c', 'def', { peak: 3 });
    expect(() => joinParts(folder, { name: 'toy', files: [...files, other] }, flat)).toThrow('abc, def');
  });
});
