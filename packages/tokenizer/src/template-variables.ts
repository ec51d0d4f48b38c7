import { Template } from '@huggingface/jinja';

/** Variables that the tokenizer or the files of the model set. Requests and configurations must not set them. */
export const reservedVariables: ReadonlySet<string> = new Set([
  'messages',
  'tools',
  'documents',
  'add_generation_prompt',
  'fixed_date',
  'strftime_now',
  'raise_exception',
  'bos_token',
  'eos_token',
  'pad_token',
  'unk_token',
]);

/** Names of the variables with which templates turn thinking on and off. The value false turns it off. */
const switches = ['enable_thinking', 'thinking'] as const;

/** Returns the variable that turns thinking off, or undefined if the template has no switch. */
export function findThinkingSwitch(names: ReadonlySet<string>): Readonly<Record<string, unknown>> | undefined {
  const name = switches.find((each) => names.has(each));
  return name === undefined ? undefined : { [name]: false };
}

/**
 * Returns the names of all variables in a template, including variables that it sets. Throws the parser's SyntaxError.
 */
export function listVariables(source: string): ReadonlySet<string> {
  const names = new Set<string>();
  visit(new Template(source).parsed, names);
  return names;
}

/**
 * Fields of a node whose names are not variables that the template reads: attributes, arguments, tests, filters, and
 * variables that the template sets.
 */
const otherNames: Readonly<Record<string, string>> = {
  KeywordArgumentExpression: 'key',
  TestExpression: 'test',
  Set: 'assignee',
  FilterExpression: 'filter',
};

function visit(node: unknown, names: Set<string>): void {
  if (Array.isArray(node)) for (const each of node) visit(each, names);
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
  const { type, value, computed } = node as { type?: unknown; value?: unknown; computed?: unknown };
  if (type === 'Identifier' && typeof value === 'string') names.add(value);
  const skipped = type === 'MemberExpression' && computed === false ? 'property' : otherNames[String(type)];
  const isPlain = (inner: unknown): boolean => (inner as { type?: unknown } | null)?.type === 'Identifier';
  for (const [key, inner] of Object.entries(node)) if (key !== skipped || !isPlain(inner)) visit(inner, names);
}
