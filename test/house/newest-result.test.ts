import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findNewestResult } from '../../.ci/newest-result.mjs';

let root = '';

beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'newest-'));
  for (const file of ['0.9.0/lake.json', '0.10.0/lake.json', '0.9.0/math.json']) {
    mkdirSync(path.join(root, 'results', path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, 'results', file), '{}');
  }
});
afterAll(() => rmSync(root, { recursive: true }));

describe('the newest result', () => {
  it('is that of the highest version that has the file', () => {
    expect(findNewestResult('results/newest/lake.json', root)).toBe('results/0.10.0/lake.json');
    expect(findNewestResult('results/newest/math.json', root)).toBe('results/0.9.0/math.json');
  });

  it('is the named file itself if the page names a version', () => {
    expect(findNewestResult('results/0.9.0/lake.json', root)).toBe('results/0.9.0/lake.json');
  });

  it('is an error if no version has the file', () => {
    expect(() => findNewestResult('results/newest/poker.json', root)).toThrow('no version in results has poker.json');
  });
});
