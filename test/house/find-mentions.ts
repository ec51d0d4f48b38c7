import type { createProgram } from '@agentjet/cli';

/** The names that a message may use: the tree of settings, the command of `ajet`, scripts and environment variables. */
export type Known = {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly program: ReturnType<typeof createProgram>;
  readonly scripts: ReadonlySet<string>;
  readonly isVariable: (name: string) => boolean;
};
type Program = Known['program'];

const isSection = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Whether a path of keys is a setting. `X` is a value that the message fills in, so any keys may follow it. An empty
 * section accepts any keys.
 */
function isSetting([key = '', ...rest]: readonly string[], section: unknown, settings: unknown): boolean {
  if (!isSection(section)) return false;
  if (key === 'X' || (Object.keys(section).length === 0 && section !== settings)) return true;
  if (!Object.hasOwn(section, key)) return false;
  if (key === 'policies' && rest.length > 1) return isSetting(rest.slice(1), settings, settings);
  return rest.length === 0 || isSetting(rest, section[key], settings);
}

const leafNames = (section: unknown): readonly string[] =>
  isSection(section) ? Object.entries(section).flatMap(([name, value]) => [name, ...leafNames(value)]) : [];

const isFileName = (name: string): boolean => /\.(?:safetensors|jsonl?|ya?ml|md|ts|py|bin)$/.test(name);

/**
 * Returns settings with dots that do not exist, such as `rollout.num_repeats`, and names before `=` or after "set" that
 * no setting has.
 */
function wrongSettings(text: string, { settings }: Known): readonly string[] {
  const sections = Object.keys(settings).filter((name) => isSection(settings[name]));
  const dotted = new RegExp(`(?<![\\w./:-])(?:ajet\\.)?(?:${sections.join('|')})(?:\\.[A-Za-z]\\w*)+(?![\\w(])`, 'g');
  const names = new Set(leafNames(settings));
  const assigned = /(?<=(?:^|[\s"'`(])(?:[Ss]et |[Ll]ower |[Rr]aise )?)[a-z]+(?:_[a-z0-9]+)+(?==)/g;
  return [
    ...[...text.matchAll(dotted)]
      .map(([found]) => found)
      .filter((found) => !isFileName(found) && !isSetting(found.replace(/^ajet\./, '').split('.'), settings, settings)),
    ...[...(text.includes('{%') ? '' : text).matchAll(assigned)]
      .map(([found]) => found)
      .filter((found) => !names.has(found)),
  ];
}

const flagsOf = (program: Program): readonly string[] => [
  '--help',
  ...program.options.flatMap(({ long }) => long ?? []),
];
const allFlags = (program: Program): readonly string[] => [
  ...flagsOf(program),
  ...program.commands.flatMap((each) => allFlags(each)),
];

/**
 * Follows the words after `ajet`: its subcommands, then flags that the last of them takes. Returns the wrong parts as
 * they are written.
 */
function wrongWords(words: readonly string[], program: Program, path: string): readonly string[] {
  const [first, ...rest] = words;
  const next = program.commands.find((each) => each.name() === first);
  if (next !== undefined) return wrongWords(rest, next, `${path} ${first}`);
  const isPlain = first !== undefined && /^[a-z][a-z-]*$/.test(first);
  if (isPlain && program.commands.length > 0) return [`${path} ${first}`];
  const inherited = path === 'ajet' ? [] : ['--version'];
  const known = new Set([...flagsOf(program), ...inherited]);
  return words.filter((word) => /^--[a-z]/.test(word) && !known.has(flagName(word))).map((word) => `${path} ${word}`);
}

const flagName = (word: string): string => word.replace(/[^\w-].*$/, '');

/**
 * Matches another tool and its arguments, up to the end of the command or sentence, or the program `"$0"` of a shell
 * script and its flags. The flags of other tools are not checked.
 */
const otherTool =
  /"\$0"(?: --[a-z-]+)+|`(?!ajet\b)[a-zX][\w-]* [^`]*`|(?<![\w-])(?:npm|npx|node|pip|python3?|docker|podman|bwrap|vllm|ray|ssh|scp|torchrun|curl|git|X(?= --))(?![\w-])(?:(?!\. )[^`"';\n])*/g;

function wrongCommands(text: string, { program, scripts }: Known): readonly string[] {
  const ajet = [...text.matchAll(/(?<![\w/.@-])ajet(?<words>(?: (?:[^\s`"'(),;:]+|\([^)]*\)))+)/g)].flatMap(
    ({ groups }) => wrongWords((groups?.['words'] ?? '').trim().replace(/\.$/, '').split(' '), program, 'ajet'),
  );
  const flags = new Set(allFlags(program));
  const alone = [...text.replace(otherTool, '').matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([found]) => found);
  const run = [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => name);
  const hasScript = (name: string): boolean =>
    name.endsWith(':X') || name.endsWith(':')
      ? [...scripts].some((each) => each.startsWith(name.replace(/X$/, '')))
      : scripts.has(name);
  return [
    ...ajet,
    ...alone.filter((found) => !flags.has(found)),
    ...run.filter((name) => !hasScript(name)).map((name) => `npm run ${name}`),
  ];
}

const wrongVariables = (text: string, { isVariable }: Known): readonly string[] =>
  [...text.matchAll(/\bAJET_[A-Z0-9_]+\b/g)].map(([found]) => found).filter((found) => !isVariable(found));

/**
 * Returns the settings, commands, flags, scripts and environment variables that a message names and that do not exist.
 */
export const wrongMentions = (text: string, known: Known): readonly string[] => [
  ...new Set([...wrongSettings(text, known), ...wrongCommands(text, known), ...wrongVariables(text, known)]),
];
