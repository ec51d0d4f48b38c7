/**
 * Takes a picture of each view at three widths, from recorded runs:
 * `npx tsx --tsconfig tsconfig.check.json test/studio/make-images.ts <folder> before=<url> after=<url>`. The folder contains
 * at least two runs of the same experiment with evaluations. The addresses are those of two
 * `ajet serve --no-key` servers. The swarm is a scripted server. The pictures go to docs/images/studio.
 */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openStudio } from '@agentjet/studio';
import type { Page } from 'playwright-core';
import { openBrowser } from './open-browser.js';
import { openModels } from './open-models.js';

const target = path.resolve(import.meta.dirname, '../../docs/images/studio');
/** Width, height, and the colours in which the view is shown. */
const screens = [
  [390, 780, 'dark'],
  [820, 760, 'light'],
  [1280, 760, 'light'],
] as const;

const maxBytes = 1_500_000;

async function main(folder: string, served: readonly string[]): Promise<void> {
  const models = await openModels();
  const chats = served.map((text) => ({ name: text.replace(/=.*/, ''), url: text.replace(/^[^=]*=/, '') }));
  const studio = await openStudio(folder, { swarm: { url: models.url }, chats });
  const browser = await openBrowser();
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  try {
    for (const [width, height, colorScheme] of screens) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
      await page.goto(studio.url);
      await page.waitForSelector('table.runs a');
      for (const [name, hash] of Object.entries(await findViews(page))) await shoot(page, { name, hash, width });
      await page.close();
    }
  } finally {
    await browser.close();
    await studio.close();
    models.close();
  }
  const bytes = readdirSync(target).reduce((sum, name) => sum + statSync(path.join(target, name)).size, 0);
  console.log(`${readdirSync(target).length} pictures, ${Math.round(bytes / 1000)} kB in ${target}`);
  if (bytes > maxBytes) throw new Error(`The pictures have more than ${maxBytes} bytes.`);
}

/** Returns the addresses of all views of the newest run, such as its last step and a failed task with its episode. */
async function findViews(page: Page): Promise<Readonly<Record<string, string>>> {
  const { runs } = (await read(page, 'runs')) as {
    readonly runs: readonly { readonly id: string; readonly step: number }[];
  };
  const [run, other] = runs;
  if (run === undefined || other === undefined) throw new Error('The folder needs two runs.');
  const base = `#/run/${run.id}`;
  const { tasks } = (await read(page, `runs/${run.id}`)) as {
    readonly tasks: readonly {
      readonly task: string;
      readonly after: { readonly episode: string; readonly successes: number; readonly trials: number } | null;
    }[];
  };
  const task = tasks.find(({ after }) => after !== null && after.successes < after.trials) ?? tasks[0];
  const episode = task?.after?.episode ?? '';
  const { groups } = (await read(page, `runs/${run.id}/step?step=${run.step}`)) as {
    readonly groups: readonly { readonly group: string; readonly spread: number }[];
  };
  const [group] = groups.toSorted((a, b) => b.spread - a.spread);
  return {
    runs: '#/',
    overview: `${base}/overview`,
    curves: `${base}/curves`,
    step: `${base}/step/${run.step}?sort=spread`,
    group: `${base}/group/${encodeURIComponent(group?.group ?? '')}?step=${run.step}`,
    episodes: `${base}/episodes?result=failure`,
    conversation: `${base}/episode/${episode}`,
    tokens: `${base}/episode/${episode}?show=tokens&colour=logprob&token=3`,
    time: `${base}/episode/${episode}?show=time`,
    facts: `${base}/episode/${episode}?show=facts`,
    task: `${base}/task/${encodeURIComponent(task?.task ?? '')}`,
    system: `${base}/system`,
    compare: `#/compare?runs=${runs.map(({ id }) => id).join(',')}`,
    swarm: '#/swarm',
    chat: '#/chat',
  };
}

const read = (page: Page, place: string): Promise<unknown> =>
  page.evaluate(`fetch(${JSON.stringify(`api/${place}`)}).then((answer) => answer.json())`);

type Shot = { readonly name: string; readonly hash: string; readonly width: number };

async function shoot(page: Page, { name, hash, width }: Shot): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await page.waitForSelector('h1');
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await page.waitForTimeout(400); // charts are drawn in the next frames
  if (name === 'chat') {
    await page
      .getByLabel('What to say')
      .fill('A farmer has 36 apples and makes 9 equal heaps. How many are in a heap?');
    await page.keyboard.press('Enter');
    await page.locator('.by-generated').nth(1).waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor(); // both answers are whole
  }
  const session = await page.context().newCDPSession(page);
  const { data } = (await session.send('Page.captureScreenshot', { format: 'webp', quality: 55 })) as { data: string };
  writeFileSync(path.join(target, `${name}-${width}.webp`), Buffer.from(data, 'base64'));
}

const [folder = 'saved_experiments', ...served] = process.argv.slice(2);
await main(folder, served);
