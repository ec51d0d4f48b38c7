import { z } from 'zod';
import { defaultOf, shapeOf } from './setting.js';
import { loadYaml } from './read-config-text.js';

/** Prints a schema as `default.yaml`: every key with its default and its comment, in the order of the schema. */

const commentColumn = 39;
const lineWidth = 120;

const head = `# This file lists every key of AgentJet with its default and its meaning. It is loaded first. Your YAML overrides it, and
# \`key.path=value\` on the command line overrides your YAML. The defaults suit a tiny model on a CPU.
#
# A relative path is looked up next to the YAML file that contains it, then in the working directory.
# \`path/file.ts->Name\` names an export of a TypeScript or JavaScript file.
#
# \`npm run manual\` writes this file from the settings in the sources; change a comment there.

ajet:
`;

function isWhole(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodDefault) return isWhole(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodNullable) return isWhole(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodNumber && schema.format === 'safeint';
}

/** Writes a small number with a fraction if the setting allows fractions: 1.0, 3.0e-4. */
function toNumberText(value: number, schema: z.ZodType): string {
  if (isWhole(schema)) return String(value);
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential().replace(/^(-?\d+)e/, '$1.0e');
  return Number.isInteger(value) && Math.abs(value) < 10 ? value.toFixed(1) : String(value);
}

function toText(value: unknown, schema: z.ZodType): string {
  if (typeof value === 'number') return toNumberText(value, schema);
  return loadYaml().stringify(value, { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 }).trim();
}

/** Breaks at spaces so that no line is longer than the page. */
function wrap(comment: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of comment.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Aligns comments in one column. A key that is longer than the column is followed by two spaces. */
function withComment(line: string, comment: string | undefined): string {
  if (comment === undefined) return line;
  const column = Math.max(commentColumn, line.length + 2);
  const [first = '', ...rest] = wrap(comment, lineWidth - column - 2);
  return [`${line.padEnd(column)}# ${first}`, ...rest.map((text) => `${' '.repeat(column)}# ${text}`)].join('\n');
}

function printSection(schema: z.ZodType, indent: string): readonly string[] {
  return Object.entries(shapeOf(schema)).flatMap(([key, inner]) => {
    const isSection = !(inner instanceof z.ZodDefault);
    const line = isSection ? `${indent}${key}:` : `${indent}${key}: ${toText(defaultOf(inner), inner)}`;
    const printed = [withComment(line, inner.description), ...(isSection ? printSection(inner, `${indent}  `) : [])];
    return isSection && indent.length === 2 ? ['', ...printed, ''] : printed;
  });
}

/** Returns the content of `default.yaml`. */
export function writeManual(schema: z.ZodType): string {
  const body = printSection(schema, '  ')
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return `${head}  ${body}\n`;
}
