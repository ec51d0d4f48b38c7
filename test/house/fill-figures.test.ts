import { describe, expect, it } from 'vitest';
import { computeFigures, fillFigures, quotedFigures } from '../../.ci/fill-figures.mjs';
import { resultsPage } from '../../.ci/results-page.mjs';

const result = {
  date: '2026-11-27T10:00:00.000Z',
  commit: 'abcdef0123456789',
  machine: { cpu: 'AMD EPYC', cores: 2, memory_gib: 24, node: 'v20.20.2' },
  ratio: { '0.85M': 1.0319 },
  rows: [
    { model: '7B', mfu: 0.5576 },
    { model: '1.5B', mfu: 0.5174 },
  ],
  tokens: 34055.01,
};
const file = 'test/bench/results/engine.json';
const read = (name: string) => {
  if (name === file) return result;
  throw new Error(`no such file: ${name}`);
};
const groupsOf = (figures: Record<string, string>, from = file) => ({ engine: { result: from, figures } });
const compute = (expression: string, from = file) => computeFigures(groupsOf({ it: expression }, from), read);
const figure = (name: string, text: string) => `<!--${name}-->${text}<!--/-->`;

describe('figures of a page', () => {
  it('replaces the content between the marks and nothing else', () => {
    const values = new Map([
      ['engine.train', '1.03'],
      ['engine.tokens', '34,055'],
    ]);
    const page = `before ${figure('engine.train', '7.2')}x after, ${figure('engine.tokens', '')} tokens`;
    expect(fillFigures(page, values)).toBe(
      `before ${figure('engine.train', '1.03')}x after, ${figure('engine.tokens', '34,055')} tokens`,
    );
    expect(fillFigures('no figures', values)).toBe('no figures');
    expect(quotedFigures(page)).toEqual(['engine.train', 'engine.tokens']);
  });

  it.each([
    ['$fixed(ratio."0.85M", 2)', '1.03'],
    ['$grouped(tokens)', '34,055'],
    ['$scientific(ratio."0.85M", 1)', '1.0e+0'],
    ['rows[model="7B"].[model, $percent(mfu, 1)]', '7B | 55.8%'],
  ])('computes %s', async (expression, value) => {
    expect((await compute(expression)).get('engine.it')).toBe(value);
  });

  it.each([
    ['a result that lacks the value', '$fixed(ratio."4.8M", 2)', file, '$fixed needs a number'],
    ['an expression that gives nothing', 'rows[model="3B"].mfu', file, 'it gives nothing'],
    ['an expression that gives an object', 'ratio', file, 'it gives {"0.85M":1.0319}'],
    ['an expression that cannot be read', '$fixed(', file, 'cannot be computed'],
    ['a file that is not there', 'a', 'lost.json', 'no such file: lost.json'],
  ])('refuses %s', async (_what, expression, from, message) => {
    await expect(compute(expression, from)).rejects.toThrow(message);
  });

  it.each([
    ['a figure without an end', 'x <!--engine.train-->1', 'has no end mark'],
    ['a mark that names a file', 'x <!--kept.json tokens-->1<!--/-->', 'its first mark is not'],
    ['a mark of an earlier form', 'x <!-- figure engine.train -->1<!-- /figure -->', 'its first mark is not'],
    ['a figure at the start of a line', figure('engine.train', '1'), 'line begins with the figure "engine.train"'],
    ['a name that is not in the list', `x ${figure('engine.lost', '1')}`, 'has no figure "engine.lost"'],
  ])('refuses %s', (_what, page, message) => {
    expect(() => fillFigures(page, new Map([['engine.train', '1.03']]))).toThrow(message);
  });
});

describe('the page of results', () => {
  it('shows each figure with its command, machine, commit, date and the pages that quote it', async () => {
    const groups = groupsOf({ train: '$fixed(ratio."0.85M", 2)' });
    const page = resultsPage(
      groups,
      await computeFigures(groups, read),
      new Map([['engine.train', ['docs/measured.md']]]),
      (name) => name,
      read,
    );
    expect(page).toContain(
      '`npm run bench -- engine` on AMD EPYC, 2 cores, 24 GiB, Node 20.20.2. Commit `abcdef012345`',
    );
    expect(page).toContain('2026-11-27');
    expect(page).toContain('| train | 1.03 | [docs/measured.md](../docs/measured.md) |');
  });

  it('refuses a result that nobody could measure again', async () => {
    const groups = groupsOf({ tokens: 'tokens' }, 'somewhere.json');
    const values = new Map([['engine.tokens', '1']]);
    const quoted = new Map([['engine.tokens', []]]);
    expect(() =>
      resultsPage(
        groups,
        values,
        quoted,
        (name) => name,
        () => result,
      ),
    ).toThrow('Give its group a `command`');
  });
});
