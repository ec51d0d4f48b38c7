/** Programs of ours that run inside of a box, in the languages that images have. */

export type BoxLanguage = 'python3' | 'node' | 'perl';

const boxLanguages: readonly BoxLanguage[] = ['python3', 'node', 'perl'];

/** What the shell says on standard error if the image has none of the languages. */
export const noLanguage = 'agentjet-no-language';

const flags: Readonly<Record<BoxLanguage, string>> = { python3: '-c', node: '-e', perl: '-e' };

/** A command that runs a program in the first language that the image has. `only` restricts them, for tests. */
export function inFirstLanguage(
  name: string,
  sources: Readonly<Record<BoxLanguage, string>>,
  {
    args = [],
    only = boxLanguages,
  }: { readonly args?: readonly string[]; readonly only?: readonly BoxLanguage[] } = {},
): readonly string[] {
  const given = args.map((_, index) => ` "$${index + 1}"`).join('');
  const tries = only.map(
    (language, index) =>
      `if command -v ${language} >/dev/null; then exec ${language} ${flags[language]} "$${args.length + index + 1}"${given}; fi`,
  );
  const script = [...tries, `echo ${noLanguage} >&2; exit 3`].join('; ');
  return ['/bin/sh', '-c', script, name, ...args, ...only.map((language) => sources[language])];
}
