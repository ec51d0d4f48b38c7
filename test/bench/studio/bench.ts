/**
 * Is the studio fast enough for 100,000 episodes? The benchmark serves a synthetic run to Chromium. In the page, it
 * measures the time until the table of episodes is drawn, until a filter is drawn, and until an episode of 50,000
 * tokens is open. It measures the frames while the page scrolls through these tokens, and the time from a recorded step
 * to its episodes on the page. It also measures the CPU time that a run needs for recording, and compares the figures
 * on the page with the files of 100 random runs. Last, it opens a run that is killed, resumed, rewound and deleted.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { type ChildProcess, spawn } from 'node:child_process';
import { nanoModelDir } from '@agentjet/nano';
import { addSyntheticStep, openSyntheticRun, writeSyntheticRun, type SyntheticRun } from '@agentjet/studio/testing';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import type { Page } from 'playwright-core';
import { openBrowser } from '../../studio/open-browser.js';
import { checkFigures, writeRandomRuns } from './check-figures.js';
import { checkLive } from './check-live.js';
import { measureRecording } from './measure-recording.js';
import { type BenchOptions, type BenchResult, median, numberOption, type OptionTexts } from '../bench.js';

export const wallTimeOf = 'all cores';

const ajet = path.resolve(import.meta.dirname, '../../../packages/cli/dist/main.js');
const built = path.resolve(import.meta.dirname, '../../../packages/studio/dist/page');

export const optionTexts: OptionTexts = {
  '--episodes <n>': 'default 100000',
  '--rounds <n>': 'default 5',
  '--steps <n>': 'steps of the recorded run; default 20',
  '--random <n>': 'random runs; default 100',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const episodes = numberOption(args, '--episodes', 100_000);
  const rounds = numberOption(args, '--rounds', 5);
  const dir = await mkdtemp(path.join(tmpdir(), 'bench-studio-'));
  try {
    const recording = measureRecording(dir, numberOption(args, '--steps', 20));
    report(`recording took ${recording.percent}% of the CPU of ${recording.steps} steps`);
    const shown = path.join(dir, 'shown');
    const runs = await writeRuns(shown, episodes);
    await writeRandomRuns(shown, numberOption(args, '--random', 100));
    report(`wrote a run of ${episodes} episodes`);
    const { server, url } = await startStudio(shown);
    try {
      const { figures, live, ...measured } = await measurePage(url, { runs, rounds, report, dir: shown });
      const summary = {
        ...measured,
        page_gzip_kb: pageSize(),
        server_rss_mb: residentMb(server),
        recording_cpu_percent: recording.percent,
        figures: { runs: figures.runs, compared: figures.figures, wrong: figures.wrong.length },
        live: { cases: live.length, wrong: live.filter(({ shown: said, right }) => said !== right).length },
      };
      report(JSON.stringify(summary));
      return { summary, details: { episodes, rounds, recording, wrong_figures: figures.wrong.slice(0, 20), live } };
    } finally {
      server.kill();
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

type Runs = { readonly live: SyntheticRun };

async function writeRuns(dir: string, episodes: number): Promise<Runs> {
  const { tokenizer } = await loadChatTokenizer(nanoModelDir);
  const encode = (text: string): readonly number[] => [...tokenizer.encode(text)];
  const base = { experimentDir: dir, seed: 1, tasks: 200, encode };
  await writeSyntheticRun({ ...base, name: 'big', steps: Math.ceil(episodes / 256), groups: 32, repeats: 8 });
  await writeSyntheticRun({ ...base, name: 'long', steps: 1, groups: 1, repeats: 1, tasks: 0, tokens: 50_000 });
  return { live: { ...base, name: 'live', steps: 100 } };
}

async function startStudio(dir: string): Promise<{ readonly server: ChildProcess; readonly url: string }> {
  const server = spawn(process.execPath, [ajet, 'studio', dir, '--json'], { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const chunk of server.stdout)
    return { server, url: (JSON.parse(String(chunk)) as { readonly url: string }).url };
  throw new Error('The studio did not start.');
}

/** Resident memory of the server, as Linux reports it; null elsewhere. */
function residentMb({ pid }: ChildProcess): number | null {
  try {
    const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    return Math.round(kib / 1024);
  } catch {
    return null; // only Linux has this file
  }
}

function pageSize(): number {
  const files = ['index.html', 'assets/app.js', 'assets/app.css'];
  return Math.round(files.reduce((sum, file) => sum + gzipSync(readFileSync(path.join(built, file))).length, 0) / 1000);
}

type Measured = {
  readonly runs: Runs;
  readonly rounds: number;
  readonly dir: string;
  readonly report: (line: string) => void;
};

async function measurePage(url: string, { runs, rounds, dir, report }: Measured) {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(url);
    await page.waitForSelector('table.runs a');
    const idOf = async (name: string): Promise<string> => {
      const href = await page.locator('table.runs a', { hasText: name }).first().getAttribute('href');
      return /run\/([^/]+)/.exec(href ?? '')?.[1] ?? '';
    };
    const [big, long] = [await idOf('big'), await idOf('long')];
    const open = await timeAddress(page, `#/run/${big}/episodes`, '.grid-row');
    report(`the table of episodes is drawn after ${open} ms`);
    const filters: number[] = [];
    for (let round = 0; round < rounds; round++) {
      filters.push(
        await timeAddress(page, `#/run/${big}/episodes?result=success&sort=-reward`, '[aria-sort=descending]'),
      );
      filters.push(await timeAddress(page, `#/run/${big}/episodes?sort=tokens`, '[aria-sort=ascending]'));
    }
    const episode = await timeAddress(page, `#/run/${long}/episode/e1-t1-r0?show=tokens`, '.token-line');
    const frames = await scrollFrames(page);
    const livePoint = await timeLive(page, runs.live);
    const live = await checkLive(page, { ...runs.live, name: 'killed' });
    report(`live: ${live.map(({ what, shown }) => `${what}: ${shown}`).join('; ')}`);
    await page.evaluate("location.hash = '#/'");
    await page.waitForSelector('table.runs a');
    const figures = await checkFigures(page, dir);
    report(`${figures.figures} figures of ${figures.runs} runs, ${figures.wrong.length} wrong`);
    return {
      open_run_ms: open,
      filter_ms: Math.round(median(filters)),
      open_episode_50k_ms: episode,
      frame_median_ms: round1(median(frames)),
      frame_p95_ms: round1(frames.toSorted((a, b) => a - b)[Math.floor(frames.length * 0.95)] ?? 0),
      live_point_ms: livePoint,
      figures,
      live,
    };
  } finally {
    await browser.close();
  }
}

const round1 = (value: number): number => Math.round(value * 10) / 10;

/** Milliseconds from a new address until the element is drawn, measured in the page. */
function timeAddress(page: Page, hash: string, selector: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const began = performance.now();
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return requestAnimationFrame(look);
      requestAnimationFrame(() => resolve(Math.round(performance.now() - began)));
    };
    location.hash = ${JSON.stringify(hash)};
    requestAnimationFrame(look);
  })`);
}

/** Milliseconds of each frame while the tokens scroll by. */
function scrollFrames(page: Page): Promise<readonly number[]> {
  return page.evaluate<readonly number[]>(`new Promise((resolve) => {
    const scroller = document.querySelector('.scroller');
    const frames = [];
    let before;
    const step = (now) => {
      if (before !== undefined) frames.push(now - before);
      before = now;
      if (frames.length === 120) return resolve(frames);
      scroller.scrollTop += 160;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`);
}

/** Milliseconds from the line of a step in the file to its episodes on the page. */
async function timeLive(page: Page, options: SyntheticRun): Promise<number> {
  const folder = await openSyntheticRun(options);
  await addSyntheticStep(folder, options, 1);
  await page.goto(page.url().replace(/#.*/, '#/'));
  const link = page.locator('table.runs a', { hasText: 'live' }).first();
  const href = await link.getAttribute('href');
  await page.goto(page.url().replace(/#.*/, (href ?? '').replace('overview', 'episodes')));
  await page.waitForSelector('.grid-row');
  await page.waitForTimeout(1000);
  const times: number[] = [];
  for (let step = 2; step <= 6; step++) {
    await addSyntheticStep(folder, options, step);
    const began = performance.now();
    await page.locator('.count', { hasText: `${step * 16} episodes` }).waitFor();
    times.push(performance.now() - began);
  }
  await folder.close();
  return Math.round(median(times));
}
