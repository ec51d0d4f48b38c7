import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { casesOnPage, fillPage, pageFile } from './page.js';
import { frameworkNames, frameworkOf } from './project.js';
import { type FrameworkRow, withSince } from './table.js';

const page = readFileSync(pageFile, 'utf8');

it('the page of the frameworks shows the code of every case (npm run test:frameworks -- --page)', () => {
  expect([...casesOnPage(page)].toSorted()).toEqual(frameworkNames);
  expect(page).toBe(fillPage(page));
});

it.each(frameworkNames)('%s has an exact version', (name) => {
  expect(frameworkOf(name).version).toMatch(/^\d+\.\d+\.\d+$/);
});

it('keeps the day since which a framework works, or does not', () => {
  const works = { package: 'p', version: '1.0.0', works: true } as const;
  const fails = { package: 'p', version: '1.1.0', works: false, complaints: ['an error'] } as const;
  const earlier: Readonly<Record<string, FrameworkRow>> = {
    same: { ...works, since: '2026-01-01' },
    broken: { ...works, since: '2026-01-01' },
  };
  const now = withSince({ same: { ...works, version: '1.2.0' }, broken: fails, fresh: works }, earlier, '2026-02-02');
  expect(now).toEqual({
    same: { ...works, version: '1.2.0', since: '2026-01-01' },
    broken: { ...fails, since: '2026-02-02' },
    fresh: { ...works, since: '2026-02-02' },
  });
});
