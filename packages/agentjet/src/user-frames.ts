import path from 'node:path';

/** The folder that holds our packages: in a repository or among a user's node_modules. */
const ourPackages = path.resolve(import.meta.dirname, '../..') + path.sep;

/** The lines of a stack that stand in the user's own code, innermost first. */
export function userFrames(stack: string | undefined, count = 5): readonly string[] {
  const isUsers = (line: string): boolean => /^\s+at /.test(line) && !/node:|node_modules|<anonymous>\)/.test(line) && !line.includes(ourPackages);
  return (stack ?? '').split('\n').filter(isUsers).slice(0, count);
}
