import { describe, expect, it } from 'vitest';
import { fillFigures } from '../../.ci/fill-figures.mjs';

const result = {
  ratio: { '0.85M': 1.0319 },
  rows: [
    { model: '7B', mfu: 0.5576 },
    { model: '1.5B', mfu: 0.5174 },
  ],
  tokens: 34055.01,
};
const fill = (page: string) =>
  fillFigures(page, (file) => {
    if (file === 'kept.json') return result;
    throw new Error(`no such file: ${file}`);
  });
const figure = (expression: string, text: string) => `<!-- figure kept.json ${expression} -->${text}<!-- /figure -->`;

describe('figures of a page', () => {
  it('replaces the content between the marks and nothing else', async () => {
    const page = `before ${figure('$fixed(ratio."0.85M", 2)', '7.2')}x after, ${figure('$grouped(tokens)', '')} tokens`;
    expect(await fill(page)).toBe(
      `before ${figure('$fixed(ratio."0.85M", 2)', '1.03')}x after, ${figure('$grouped(tokens)', '34,055')} tokens`,
    );
  });

  it('finds a row by what it is of, and writes several values as cells', async () => {
    const expression = 'rows[model="7B"].[model, $percent(mfu, 1)]';
    expect(await fill(figure(expression, 'old'))).toBe(figure(expression, '7B | 55.8%'));
  });

  it('is content with a page that is up to date, and with one that has no figures', async () => {
    const page = figure('$scientific(ratio."0.85M", 1)', '1.0e+0');
    expect(await fill(page)).toBe(page);
    expect(await fill('no figures')).toBe('no figures');
  });

  it.each([
    ['a result that lacks the value', figure('$fixed(ratio."4.8M", 2)', '1.07'), '$fixed needs a number'],
    ['an expression that gives nothing', figure('rows[model="3B"].mfu', '1'), 'it gives nothing'],
    ['an expression that gives an object', figure('ratio', '1'), 'it gives {"0.85M":1.0319}'],
    ['an expression that cannot be read', figure('$fixed(', '1'), 'cannot be filled'],
    ['a file that is not there', '<!-- figure lost.json a -->1<!-- /figure -->', 'no such file: lost.json'],
    ['a figure without an end', '<!-- figure kept.json tokens -->1', 'has no end mark'],
  ])('refuses %s', async (_what, page, message) => {
    await expect(fill(page)).rejects.toThrow(message);
  });
});
