import { appendFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { openRunFolder, type RunFolder } from '@agentjet/run-folder';
import { addSyntheticStep, openSyntheticRun, type SyntheticRun } from '@agentjet/studio/testing';
import type { Page } from 'playwright-core';

/** A change of a run whose episodes are open on the page, with the number that is shown and the right number. */
export type LiveCheck = { readonly what: string; readonly shown: string; readonly right: string };

const perStep = 16;

/** Opens a run, then kills it within a line, resumes, rewinds and deletes it. Returns what each change showed. */
export async function checkLive(page: Page, options: SyntheticRun): Promise<readonly LiveCheck[]> {
  const checks: LiveCheck[] = [];
  const counted = async (what: string, steps: number): Promise<void> => {
    const right = `${steps * perStep} episodes`;
    await page
      .locator('.count', { hasText: right })
      .waitFor({ timeout: 20_000 })
      .catch(() => undefined); // the number is compared below
    // Looks a second time, because the number may be right only for a moment.
    await page.waitForTimeout(600);
    checks.push({ what, shown: (await page.locator('.count').textContent()) ?? '', right });
  };
  let folder = await openSyntheticRun(options);
  await addSyntheticStep(folder, options, 1);
  await openEpisodes(page, options.name);
  await counted('opened', 1);
  await addSyntheticStep(folder, options, 2);
  await counted('grown', 2);
  await tear(folder, 3);
  await counted('killed within a line', 2);
  folder = await reopen(folder, 2);
  await counted('resumed', 2);
  await addSyntheticStep(folder, options, 3);
  await counted('grown after it was resumed', 3);
  folder = await reopen(folder, 1);
  await counted('rewound', 1);
  await addSyntheticStep(folder, { ...options, seed: options.seed + 1 }, 2);
  await addSyntheticStep(folder, { ...options, seed: options.seed + 1 }, 3);
  await counted('grown to the same length after it was rewound', 3);
  await folder.close();
  await rm(folder.dir, { recursive: true });
  await page
    .getByRole('alert')
    .first()
    .waitFor({ timeout: 20_000 })
    .catch(() => undefined); // the number is compared below
  const alert = await page.getByRole('alert').allTextContents();
  checks.push({
    what: 'deleted',
    shown: alert[0]?.includes('moved or deleted') === true ? 'gone' : 'there',
    right: 'gone',
  });
  return checks;
}

async function openEpisodes(page: Page, name: string): Promise<void> {
  await page.evaluate("location.hash = '#/'");
  const link = page.locator('table.runs a', { hasText: name }).first();
  const href = (await link.getAttribute('href')) ?? '';
  await page.evaluate(`location.hash = ${JSON.stringify(href.replace('overview', 'episodes'))}`);
  await page.waitForSelector('.grid-row');
}

/** Writes what a killed run leaves: the beginning of a line of metrics, and of an episode. */
async function tear({ dir }: RunFolder, step: number): Promise<void> {
  await appendFile(path.join(dir, 'metrics.jsonl'), `{"step":${step},"reward_me`);
  const [file = ''] = (await readdir(path.join(dir, 'episodes'))).slice(-1);
  const next = file.replace(/\d+/, String(step).padStart(6, '0'));
  await writeFile(path.join(dir, 'episodes', next), `{"episode_id":"e${step}-t1-r0","step":${step},"pha`);
}

async function reopen(folder: RunFolder, step: number): Promise<RunFolder> {
  await folder.close();
  const reopened = await openRunFolder(folder.dir);
  await reopened.rewind({ step, policyVersion: step, groupsDrawn: step * 4 });
  return reopened;
}
