import { parseArgs, type ParseArgsConfig } from 'node:util';

/**
 * Parses the options of a command line. If an option is unknown or lacks its value, the program ends with a message.
 */
export function parseOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>>['values'] {
  try {
    return parseArgs(config).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
