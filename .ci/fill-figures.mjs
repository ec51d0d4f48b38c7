// Fills the figures of a page from kept results. Two marks enclose a figure. The first mark names a result file and a
// JSONata expression on it: `<!-- figure test/bench/results/engine.json $fixed(train_vs_torch."0.85M", 2) -->1.03<!--
// /figure -->`. Several values, `[a, b]`, become neighbouring cells of a table. newest-result.mjs explains the word
// `newest` that can replace a version.
import jsonata from 'jsonata';

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const forms = {
  fixed: (value, digits) => value.toFixed(digits),
  percent: (value, digits) => `${(100 * value).toFixed(digits)}%`,
  scientific: (value, digits) => value.toExponential(digits),
  grouped: (value) => grouped.format(value),
};

function compile(expression) {
  const compiled = jsonata(expression);
  for (const [name, form] of Object.entries(forms))
    compiled.registerFunction(name, (value, digits = 0) => {
      if (!isNumber(value)) throw new Error(`$${name} needs a number; it has ${JSON.stringify(value)}`);
      return form(value, digits);
    });
  return compiled;
}

async function evaluate(expression, result) {
  const value = await compile(expression).evaluate(result);
  const cells = Array.isArray(value) ? [...value] : [value];
  const isCell = (cell) => isNumber(cell) || typeof cell === 'string';
  if (cells.length === 0 || !cells.every(isCell)) throw new Error(`it gives ${JSON.stringify(value) ?? 'nothing'}`);
  return cells.join(' | ');
}

const mark = /<!-- figure (\S+) (.+?) -->([\s\S]*?)<!-- \/figure -->/g;

/**
 * Returns the page with the figures of the current results. `readResult` returns the parsed JSON of a file. Throws an
 * error that lists every figure that cannot be filled.
 */
export async function fillFigures(page, readResult) {
  const problems = [];
  const figures = [...page.matchAll(mark)];
  if (figures.length !== page.split('<!-- figure ').length - 1)
    problems.push('A figure has no end mark "<!-- /figure -->", or no expression.');
  const fresh = [];
  for (const [whole, file, expression] of figures) {
    try {
      fresh.push(
        `<!-- figure ${file} ${expression} -->${await evaluate(expression, readResult(file))}<!-- /figure -->`,
      );
    } catch (error) {
      problems.push(`The figure "${expression}" of ${file} cannot be filled: ${error.message}.`);
      fresh.push(whole);
    }
  }
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return page.replace(mark, () => fresh.shift());
}
