import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { nanoModelDir } from '@agentjet/nano';
import { findLatestRun } from '@agentjet/run-folder';
import { exportRunPage, openStudio, type OpenedStudio } from '@agentjet/studio';
import { addSyntheticStep, openSyntheticRun, writeSyntheticRun, type SyntheticRun } from '@agentjet/studio/testing';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, openBrowser } from './open-browser.js';
import { openModels } from './open-models.js';

if (chromiumPath === undefined)
  console.warn(
    'The page of the studio is not tested: no Chromium was found. Install it with apt-get install chromium, or set AJET_CHROMIUM.',
  );

/** Markup, a script, marks of direction and control characters, as a model may write them. */
const hostile =
  ' <img src=x onerror="window.broken=1"><script>window.broken=1</script> \u202Eesrever\u0007 \uD800 "><b>bold</b>';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let dir: string;
let studio: OpenedStudio;
let models: Awaited<ReturnType<typeof openModels>>;
let browser: Browser;
let encode: (text: string) => readonly number[];
const shape = (name: string): SyntheticRun => ({
  experimentDir: dir,
  name,
  seed: 7,
  steps: 5,
  tasks: 12,
  encode,
  words: hostile,
});

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const { tokenizer } = await loadChatTokenizer(nanoModelDir);
  encode = (text) => [...tokenizer.encode(text)];
  dir = await mkdtemp(path.join(tmpdir(), 'studio-browser-'));
  await writeSyntheticRun(shape('first'));
  await writeSyntheticRun({ ...shape('second'), seed: 8 });
  models = await openModels();
  studio = await openStudio(dir, {
    tokenDir: path.join(dir, '.tokens'),
    swarm: { url: models.url },
    chats: [
      { name: 'before', url: models.url },
      { name: 'after', url: models.url },
    ],
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await studio?.close();
  models?.close();
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
});

type Visit = { readonly page: Page; readonly problems: string[]; readonly run: string };

/** Opens the page, and notes messages in the console, errors, and requests to anything but the studio. */
async function visit(width: number, colorScheme: 'light' | 'dark', name = 'first'): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`http://127.0.0.1:${studio.port}/`) && !request.url().startsWith('data:'))
      problems.push(request.url());
  });
  await page.goto(studio.url);
  await page.waitForSelector('table.runs');
  const run = await page.locator('table.runs a', { hasText: name }).first().getAttribute('href');
  return { page, problems, run: /run\/([^/]+)/.exec(run ?? '')?.[1] ?? '' };
}

async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await page.waitForSelector('h1');
  await expect.poll(() => page.locator('.loading').count()).toBe(0);
  await page.waitForTimeout(60); // charts are drawn in the next frame
}

const episode = 'e5-t23-r0';
const viewsOf = (run: string, other: string): Readonly<Record<string, string>> => ({
  runs: '#/',
  overview: `#/run/${run}/overview`,
  curves: `#/run/${run}/curves`,
  step: `#/run/${run}/step/5`,
  group: `#/run/${run}/group/e5-t23?step=5`,
  episodes: `#/run/${run}/episodes`,
  conversation: `#/run/${run}/episode/${episode}`,
  tokens: `#/run/${run}/episode/${episode}?show=tokens&colour=advantage&token=3`,
  time: `#/run/${run}/episode/${episode}?show=time`,
  facts: `#/run/${run}/episode/${episode}?show=facts`,
  task: `#/run/${run}/task/v1`,
  system: `#/run/${run}/system`,
  compare: `#/compare?runs=${run},${other}`,
  swarm: '#/swarm',
  chat: '#/chat',
});

describe.skipIf(chromiumPath === undefined)('the page', () => {
  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('has no fault that axe finds in any view, and asks nobody else (%i wide, %s)', async (width, colours) => {
    const { page, problems, run } = await visit(width, colours);
    const other = await page.locator('table.runs a', { hasText: 'second' }).first().getAttribute('href');
    const found: string[] = [];
    for (const [name, hash] of Object.entries(viewsOf(run, /run\/([^/]+)/.exec(other ?? '')?.[1] ?? ''))) {
      await show(page, hash);
      await page.evaluate(axe);
      const violations = await page.evaluate<readonly string[]>(
        'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`))',
      );
      const excess = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      found.push(
        ...violations.map((violation) => `${name}: ${violation}`),
        ...(excess > 0 ? [`${name} is ${excess} px too wide`] : []),
      );
    }
    expect([found, problems]).toEqual([[], []]);
    await page.context().close();
  });

  it('shows what models wrote as text, with hidden characters made visible', async () => {
    const { page, run } = await visit(1200, 'light');
    for (const hash of Object.values(viewsOf(run, run))) {
      await show(page, hash);
      expect(
        await page.evaluate(
          "[typeof window.broken, document.querySelectorAll('main img, main script, main b b').length]",
        ),
      ).toEqual(['undefined', 0]);
    }
    await show(page, `#/run/${run}/episode/${episode}`);
    const question = await page.locator('.outcome .question dd').textContent();
    expect(question).toContain('<img src=x onerror="window.broken=1"><script>');
    expect(question).toContain('‹202E›esrever‹0007›');
    await page.context().close();
  });

  it('is walked by keys from the table of runs to a token and back up', async () => {
    const { page } = await visit(1200, 'light');
    const press = async (key: string, view: RegExp): Promise<void> => {
      await page.keyboard.press(key);
      await expect.poll(() => page.url()).toMatch(view);
    };
    await press('Enter', /\/overview$/);
    await page.getByRole('link', { name: 'Episodes' }).click();
    await page.waitForSelector('.grid-row');
    await page.keyboard.press('j');
    await press('Enter', /\/episode\//);
    await page.waitForSelector('.conversation');
    const before = page.url();
    await page.getByRole('button', { name: 'Tokens' }).click();
    await page.waitForSelector('.token-line');
    await press('ArrowRight', /token=0/);
    await press('ArrowRight', /token=1/);
    expect(await page.locator('.token-line i.chosen').count()).toBe(1);
    await press('n', /token=\d/);
    await press('u', /\/group\//);
    await page.waitForSelector('.tree');
    await press('u', /\/step\//);
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog').isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.goto(before);
    await page.waitForSelector('.conversation');
    await page.context().close();
  });

  it('filters and sorts by the address, and switches its colours', async () => {
    const { page, run } = await visit(1200, 'light');
    await show(page, `#/run/${run}/episodes?result=failure&sort=-reward`);
    expect(await page.locator('.grid-row .result.good').count()).toBe(0);
    await page.getByLabel('Result').selectOption('success');
    await expect.poll(() => page.url()).toContain('result=success');
    await expect.poll(() => page.locator('.grid-row .result.bad').count()).toBe(0);
    await page.getByRole('columnheader', { name: 'Step' }).getByRole('button').click();
    await expect.poll(() => page.url()).toContain('sort=-step');
    await page.getByPlaceholder('Search questions').fill('What is 7 plus');
    await expect.poll(() => page.locator('.count').textContent()).toMatch(/^\d+ of /);
    await page.getByRole('button', { name: 'Use dark colours' }).click();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.context().close();
  });

  it('shows what a program on this machine asks for, with the quote marked', async () => {
    const { page, run } = await visit(1200, 'light');
    const { origin, token } = JSON.parse(readFileSync(studio.tokenFile ?? '', 'utf8')) as Record<string, string>;
    await page.waitForSelector('.live.on');
    expect(statSync(studio.tokenFile ?? '').mode & 0o777).toBe(0o600);
    const address = `#/run/${run}/episode/${episode}`;
    const shown = await fetch(`${origin}/api/view`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ address, quote: 'What is 161 minus 26?' }),
    });
    expect([shown.status, await shown.json()]).toEqual([200, expect.objectContaining({ pages: expect.any(Number) })]);
    await expect.poll(() => page.locator('mark').allTextContents()).toEqual(['What is 161 minus 26?']);
    await page.getByRole('link', { name: 'Back' }).click();
    await page.waitForSelector('table.runs');
    expect(await page.locator('.shown-by-tool').count()).toBe(0);
    await page.context().close();
  });

  it('speaks to two models side by side', async () => {
    const { page, problems } = await visit(1200, 'light');
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByLabel('What to say').fill('Where is the goal?');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.locator('.by-generated .said').allTextContents())
      .toEqual(['Where is the goal? <b>Left</b>.', 'Where is the goal? <b>Left</b>.']);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('grows while the run does, and goes back with it', async () => {
    const options = { ...shape('growing'), words: '' };
    const folder = await openSyntheticRun(options);
    await addSyntheticStep(folder, options, 1);
    const { page, problems, run } = await visit(1200, 'light', 'growing');
    await show(page, `#/run/${run}/episodes`);
    const count = () => page.locator('.count').textContent();
    expect(await count()).toBe('16 episodes');
    for (const step of [2, 3]) await addSyntheticStep(folder, options, step);
    await expect.poll(count).toBe('48 episodes');
    await folder.rewind({ step: 1, policyVersion: 1, groupsDrawn: 4 });
    await expect.poll(count).toBe('16 episodes');
    await addSyntheticStep(folder, options, 2);
    await expect.poll(count).toBe('32 episodes');
    expect(problems).toEqual([]);
    await rm(folder.dir, { recursive: true });
    await expect.poll(() => page.getByRole('alert').first().textContent()).toContain('moved or deleted');
    await page.context().close();
    await folder.close();
  });
});

describe.skipIf(chromiumPath === undefined)('an exported run', () => {
  const openExport = async (html: string) => {
    const file = path.join(dir, 'run.html');
    await writeFile(file, html);
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      if (!/^(file|data|blob):/.test(request.url())) problems.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    await page.waitForSelector('h1');
    return { page, problems, run: /run\/([^/]+)/.exec(page.url())?.[1] ?? '' };
  };

  it('shows each view of the chosen episodes without a server', async () => {
    const folder = await findLatestRun(dir, 'first');
    const { html, episodes, allEpisodes } = await exportRunPage(folder ?? '');
    expect([episodes, allEpisodes]).toEqual([28, 104]);
    const { page, problems, run } = await openExport(html);
    const { compare: _two, swarm: _swarm, chat: _chat, ...views } = viewsOf(run, run);
    for (const hash of Object.values(views)) {
      await show(page, hash);
      expect([hash, await page.getByRole('alert').allTextContents()]).toEqual([hash, []]);
    }
    await page.evaluate(`location.hash = '#/run/${run}/episode/e1-t4-r0'`);
    expect(await page.getByRole('alert').textContent()).toContain('does not contain it');
    expect(await page.evaluate('typeof window.broken')).toBe('undefined');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('opens with the episode that it was made for', async () => {
    const folder = await findLatestRun(dir, 'first');
    const options = { episodes: `episode=${episode}`, opensEpisode: episode };
    const { html, episodes } = await exportRunPage(folder ?? '', options);
    expect(episodes).toBe(1);
    const { page, problems } = await openExport(html);
    await page.waitForSelector('.conversation');
    expect([await page.locator('h1').textContent(), problems]).toEqual([episode, []]);
    await page.close();
  });

  it('has figures and no text if it is redacted', async () => {
    const folder = await findLatestRun(dir, 'first');
    const { page, run } = await openExport((await exportRunPage(folder ?? '', { isRedacted: true })).html);
    await show(page, `#/run/${run}/episodes`);
    expect(await page.locator('.count').textContent()).toBe('104 episodes');
    expect(await page.locator('main').textContent()).not.toMatch(/What is|not \d+/);
    await page.close();
  });

  it('is one run, which is named', async () => {
    await expect(exportRunPage(dir)).rejects.toThrow(/contains \d runs\. Name one run/);
    await expect(exportRunPage(path.join(dir, 'none'))).rejects.toThrow(/is not a run folder/);
  });
});

describe.skipIf(chromiumPath === undefined)('the built page', () => {
  it('is at most 150 KB, compressed', async () => {
    const { gzipSync } = await import('node:zlib');
    const built = path.resolve(import.meta.dirname, '../../packages/studio/dist/page');
    const bytes = ['index.html', 'assets/app.js', 'assets/app.css'].map(
      (file) => gzipSync(readFileSync(path.join(built, file))).length,
    );
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
  });
});
