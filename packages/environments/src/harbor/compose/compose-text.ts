import type { Refuse } from '../refuse.js';

/** The small languages inside of a docker-compose.yaml: variables, commands in one line, and lengths of time. */

const variable = /\$(?:(\$)|\{([A-Za-z_]\w*)(?:(:?-)([^}]*))?\}|([A-Za-z_]\w*)|)/g;

/** Fills in `${NAME}`, `${NAME:-instead}`, `${NAME-instead}` and `$NAME` in all strings below a value. `$$` is one `$`. */
export function fillIn(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
  refuse: Refuse,
): unknown {
  if (typeof value === 'string')
    return value.replace(variable, (all, dollar, braced, sign, instead, plain) => {
      if (dollar !== undefined) return '$';
      const name: string | undefined = braced ?? plain;
      if (name === undefined || instead?.includes('${'))
        return refuse(`it has ${JSON.stringify(all)} in ${JSON.stringify(value)}. Write $$ for a dollar sign.`);
      const found = variables[name];
      if (found !== undefined && !(sign === ':-' && found === '')) return found;
      return instead ?? refuse(`it needs the environment variable ${name}, which is not set.`);
    });
  if (Array.isArray(value)) return value.map((each) => fillIn(each, variables, refuse));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillIn(each, variables, refuse)]));
}

/** Splits a command into words as a shell does, without expanding anything. */
export function splitWords(command: string): readonly string[] {
  const words = command.match(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/gs) ?? [];
  return words.map((word) =>
    word.replace(/\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/gs, (_all, escaped, double, single) =>
      double === undefined ? (escaped ?? single) : double.replace(/\\(["\\$`])/g, '$1'),
    ),
  );
}

const units: Readonly<Record<string, number>> = { us: 1e-6, ms: 0.001, s: 1, m: 60, h: 3600 };

/** Reads `90s`, `1m30s` or `500ms` as seconds. Returns undefined for anything else. */
export function secondsOf(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(us|ms|s|m|h))+$/.test(text)) return undefined;
  return [...text.matchAll(/([\d.]+)([a-z]+)/g)].reduce(
    (sum, [, size, unit = '']) => sum + Number(size) * (units[unit] ?? 0),
    0,
  );
}
