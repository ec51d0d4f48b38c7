// Fills the figures of a page from kept results. Two marks enclose a figure, and the first names it:
// `<!--engine.train-0.85m-->1.03<!--/-->`. docs/figures.yaml says which result a group of figures comes
// from, and how each figure is computed: a JSONata expression on the result. Several values, `[a, b]`, become
// neighbouring cells of a table.
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

/**
 * Computes every figure of `groups`, the content of docs/figures.yaml. Returns a map from the full name, such as
 * `engine.train-0.85m`, to the value. `readResult` returns the parsed JSON of a file. Throws an error that lists every
 * figure that cannot be computed.
 */
export async function computeFigures(groups, readResult) {
  const problems = [];
  const values = new Map();
  for (const [group, { result, figures }] of Object.entries(groups))
    for (const [name, expression] of Object.entries(figures)) {
      try {
        values.set(`${group}.${name}`, await evaluate(expression, readResult(result)));
      } catch (error) {
        problems.push(`The figure "${group}.${name}" of ${result} cannot be computed: ${error.message}.`);
      }
    }
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return values;
}

const mark = /<!--([^\s>.]+\.[^\s>]+)-->([\s\S]*?)<!--\/-->/g;

/** Returns the names of the figures that the page quotes. */
export const quotedFigures = (page) => [...page.matchAll(mark)].map(([, name]) => name);

/**
 * Returns the page with current values, of the map that `computeFigures` returns. Throws an error that lists every mark
 * that cannot be filled.
 */
export function fillFigures(page, values) {
  const problems = [];
  const numMarks = page.split(/<!--[^\s>.]+\.[^\s>]+-->|<!-- figure /).length - 1;
  if (quotedFigures(page).length !== numMarks || page.split('<!--/-->').length - 1 !== numMarks)
    problems.push('A figure has no end mark "<!--/-->", or its first mark is not "<!--group.name-->".');
  for (const [, name] of page.matchAll(/^ {0,3}<!--([^\s>.]+\.[^\s>]+)-->/gm))
    problems.push(
      `A line begins with the figure "${name}", which ends the paragraph on GitHub: break the line elsewhere.`,
    );
  const filled = page.replace(mark, (whole, name) => {
    const value = values.get(name);
    if (value !== undefined) return `<!--${name}-->${value}<!--/-->`;
    problems.push(`docs/figures.yaml has no figure "${name}".`);
    return whole;
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return filled;
}
