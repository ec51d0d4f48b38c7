import { parseArgs, type ParseArgsConfig } from 'node:util';

/** The options of a command line. One that is unknown, or lacks its value, ends the program with a line that says so. */
export function parseOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>>['values'] {
  try {
    return parseArgs(config).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
