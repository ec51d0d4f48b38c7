/**
 * Lets a reader use the studio through pictures: `npx tsx --tsconfig tsconfig.paths.json test/studio/blind/look.ts`
 * followed by one of the commands below. The browser stays open between commands, and each command ends with a new
 * picture of the page. A reader sees only pictures, and moves with keys, clicks and the wheel, as on a screen.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStudio } from '@agentjet/studio';
import { chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../open-browser.js';

const usage = `Commands:
  open <folder>        opens the studio of a folder in a browser, and keeps running: start it in the background
  look                 takes a picture
  click <text>         clicks the first link, button or row that shows this text
  click <x> <y>        clicks a place of the picture
  press <key> ...      presses keys, such as j, n, /, ?, Enter or ArrowDown
  type <text>          types into the field that has the focus
  scroll <pixels>      scrolls down, or up with a negative number; click into a part first to scroll that part
  back                 goes back to the page before
Each command prints the file of the picture.`;

const folder = path.join(tmpdir(), 'ajet-blind');
const stateFile = path.join(folder, 'state.json');
const port = 41_977;
const size = { width: 1440, height: 1000 };

async function open(runs: string): Promise<void> {
  if (chromiumPath === undefined) throw new Error('There is no Chromium.');
  mkdirSync(folder, { recursive: true });
  const studio = await openStudio(runs);
  const browser = spawn(
    chromiumPath,
    ['--headless', '--no-sandbox', '--disable-gpu', `--remote-debugging-port=${port}`, 'about:blank'],
    { stdio: 'ignore', detached: true },
  );
  writeFileSync(stateFile, JSON.stringify({ pictures: 0 }));
  await sleep(2000);
  await withPage(async (page) => {
    await page.goto(studio.url);
  });
  const close = (): void => {
    if (browser.pid !== undefined) process.kill(-browser.pid); // the program may be a script that starts the browser
    process.exit();
  };
  process.once('SIGINT', close);
  process.once('SIGTERM', close);
}

async function withPage(act: (page: Page) => Promise<void>): Promise<void> {
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  const [page] = browser.contexts().flatMap((context) => context.pages());
  if (page === undefined) throw new Error('The browser has no page. Start with "open <folder>".');
  await page.setViewportSize(size);
  await act(page);
  await sleep(700);
  const { pictures } = JSON.parse(readFileSync(stateFile, 'utf8')) as { readonly pictures: number };
  const file = path.join(folder, `${String(pictures + 1).padStart(3, '0')}.png`);
  writeFileSync(stateFile, JSON.stringify({ pictures: pictures + 1 }));
  await page.screenshot({ path: file });
  console.log(file);
  await browser.close();
}

const isNumber = (text: string | undefined): boolean => text !== undefined && /^-?\d+$/.test(text);

async function click(page: Page, [first = '', second]: readonly string[]): Promise<void> {
  if (isNumber(first) && isNumber(second)) return page.mouse.click(Number(first), Number(second));
  const named = page.locator('a, button, summary, label, [role=button], [role=tab], option, tr, li').filter({
    hasText: first,
  });
  const exact = page.getByText(first, { exact: true });
  await ((await exact.count()) > 0 ? exact : named).first().click({ timeout: 5000 });
}

async function act(page: Page, [command, ...rest]: readonly string[]): Promise<void> {
  if (command === 'click') return click(page, rest);
  if (command === 'press') for (const key of rest) await page.keyboard.press(key);
  if (command === 'type') await page.keyboard.type(rest.join(' '));
  if (command === 'scroll') await page.mouse.wheel(0, Number(rest[0]));
  if (command === 'back') await page.goBack();
}

const [command = '', ...rest] = process.argv.slice(2);
if (command === 'open' && rest[0] !== undefined) await open(rest[0]);
else if (['look', 'click', 'press', 'type', 'scroll', 'back'].includes(command))
  await withPage((page) => act(page, [command, ...rest]));
else console.log(usage);
