import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

const linesOf = (file: string): readonly string[] => readFileSync(file, 'utf8').trim().split('\n');

/** The keys of every kept line of metrics, without what follows the first slash. */
function keptKeys(): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const run of readdirSync(path.join(root, 'test/golden-runs/golden')).filter((name) => !name.includes('.')))
    for (const line of linesOf(path.join(root, 'test/golden-runs/golden', run, 'metrics.jsonl')))
      for (const key of Object.keys(JSON.parse(line) as object)) keys.add(key.split('/')[0] ?? key);
  return keys;
}

it('the page of metrics explains every metric of the kept runs', () => {
  const page = readFileSync(path.join(root, 'docs/metrics.md'), 'utf8');
  const explained = new Set([...page.matchAll(/`([a-z_]+)[/`]/g)].map(([, name]) => name));
  const keys = keptKeys();
  expect(keys.size).toBeGreaterThan(30);
  expect([...keys].filter((key) => !explained.has(key) && key !== 'step')).toEqual([]);
});
