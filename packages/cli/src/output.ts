import { styleText } from 'node:util';
import type { JobListener } from 'agentjet';
import { createLineListener, type TranscriptStyle } from 'agentjet/printing';
import { createTerminalListener } from './terminal.js';

/** The output of a command. With `--json`, stdout holds only the line of JSON. */
export type Output = {
  readonly listener: JobListener;
  readonly writeLine: (line: string) => void;
  readonly writeJson: (value: unknown) => void;
};

const styles = { title: 'bold', label: 'gray', model: 'cyan', good: 'green', bad: 'red' } as const;
const colors: TranscriptStyle = (kind, text) => styleText(styles[kind], text);

/** Uses bars and colours on a terminal, and plain lines elsewhere. */
export function createOutput(flags: { readonly json?: boolean }): Output {
  const stream = flags.json === true ? process.stderr : process.stdout;
  const writeLine = (line: string): void => void stream.write(`${line}\n`);
  const isTerminal = stream.isTTY && process.env['TERM'] !== 'dumb';
  return {
    listener: isTerminal ? createTerminalListener(stream, colors) : createLineListener(writeLine),
    writeLine,
    writeJson: (value) => {
      if (flags.json === true) process.stdout.write(`${JSON.stringify(value)}\n`);
    },
  };
}
