import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepResult, readTree } from './keep-result.js';

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

  it('is no commit if a file was changed or added', () => {
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

  it('is no commit outside a repository', () => {
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
});
