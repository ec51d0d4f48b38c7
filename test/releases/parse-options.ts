import { parseArgs, type ParseArgsConfig } from 'node:util';

/**
 * Parses the options of a command line. An unknown option, or one without its value, ends the program with a line that
 * says so.
 */
export function parseOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>>['values'] {
  try {
    return parseArgs(config).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
