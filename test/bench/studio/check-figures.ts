import { createRandom } from '@agentjet/core';
import { openRunFolder } from '@agentjet/run-folder';
import { writeSyntheticRun } from '@agentjet/studio/testing';
import type { Page } from 'playwright-core';

export type CheckedFigures = {
  readonly runs: number;
  readonly figures: number;
  readonly wrong: readonly string[];
};

/** Runs of random shapes. */
export async function writeRandomRuns(dir: string, count: number): Promise<void> {
  const random = createRandom(20_261_127);
  for (let at = 0; at < count; at++)
    await writeSyntheticRun({
      experimentDir: dir,
      name: `random-${at}`,
      seed: at,
      steps: 1 + random.int(6),
      groups: 1 + random.int(5),
      repeats: 1 + random.int(4),
      tasks: random.int(7),
    });
}

/** Compares the figures on the page with the files of each run: table of runs, values of curves, episodes, success. */
export async function checkFigures(page: Page, dir: string): Promise<CheckedFigures> {
  const wrong: string[] = [];
  let figures = 0;
  const links = await page
    .locator('table.runs a', { hasText: 'random-' })
    .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  const ids = links.map((href) => /run\/([^/]+)/.exec(href)?.[1] ?? '');
  const { runs } = (await read(page, 'runs')) as { readonly runs: readonly { id: string; path: string }[] };
  for (const id of ids) {
    const folder = await openRunFolder(`${dir}/${runs.find((run) => run.id === id)?.path ?? ''}`);
    const same = (what: string, shown: string | null | undefined, file: string): void => {
      figures++;
      if (shown?.trim() !== file)
        wrong.push(`${folder.dir}: ${what} is ${String(shown)} on the page and ${file} in the files`);
    };
    const [metrics, evaluations] = [await folder.readMetrics(), await folder.readEvaluations()];
    await show(page, `#/run/${id}/curves`, 'details.values summary');
    await page.locator('details.values summary').click();
    const table = page.locator('details.values table');
    const names = await table.locator('thead th').allTextContents();
    const rows = await table
      .locator('tbody tr')
      .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')));
    for (const [at, line] of [...metrics, ...evaluations].entries())
      for (const [column, name] of names.entries())
        if (column > 0) same(`${name} of line ${at + 1}`, rows[at]?.[column], format(line[name.trim()]));
    const count = (
      await Promise.all((await folder.episodes.steps()).map((step) => folder.episodes.readStep(step)))
    ).flat();
    await show(page, `#/run/${id}/episodes`, '.count');
    same(
      'the number of episodes',
      await page.locator('.count').textContent(),
      `${format(count.length)} episode${count.length === 1 ? '' : 's'}`,
    );
    await show(page, `#/run/${id}/overview`, '.verdict');
    const last = evaluations.at(-1)?.['success_rate'];
    if (last !== undefined && evaluations.length > 1) {
      const said = (await page.locator('.verdict p').first().textContent()) ?? '';
      same('the last success', / to (\d\.\d\d) /.exec(said)?.[1], last.toFixed(2));
    }
  }
  return { runs: ids.length, figures, wrong };
}

/** Formats a number as the page does. The code is written independently, so that a mistake of the page is found. */
function format(value: number | undefined): string {
  if (value === undefined) return '–';
  if (Number.isInteger(value) || Math.abs(value) >= 1000)
    return String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, ' ');
  if (Math.abs(value) >= 0.001) return String(Number(value.toPrecision(3)));
  const [digits = '', power = ''] = value.toExponential(1).split('e');
  const raised = [...power.replace('+', '')].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'['0123456789'.indexOf(digit)] ?? '⁻').join('');
  return `${digits.replace('.0', '')}×10${raised}`;
}

async function show(page: Page, hash: string, selector: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await page.locator(selector).first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

const read = (page: Page, place: string): Promise<unknown> =>
  page.evaluate(`fetch(${JSON.stringify(`api/${place}`)}).then((answer) => answer.json())`);
