import type { Command } from 'commander';

/** Parts that several commands share. */

/** Makes the action of a command from a function that loads it. A command is loaded only when it runs. */
export type Act = <Args extends readonly unknown[]>(
  load: () => Promise<(...args: Args) => Promise<number>>,
) => (...args: Args) => Promise<void>;

export const json = ['--json', 'end with one line of JSON on stdout; everything else goes to stderr'] as const;

export const overridesHelp = 'settings that change the file, such as trainer_common.optim.lr=1e-5';

/** Adds the options that open the studio with a run. */
export const withStudio = (command: Command): Command =>
  command
    .option('--studio', 'open the studio with the run: its curves, groups and episodes in a browser')
    .option('--studio-port <number>', 'with --studio: default: 0, which picks a free one')
    .option('--studio-host <address>', 'with --studio: default: 127.0.0.1, which only this machine can reach');

/** The given address, the address from the environment, or a server on this machine. */
export const serverOf = ({ server }: { readonly server?: string | undefined }): string =>
  server ?? process.env['AJET_SWARM_SERVER'] ?? 'http://127.0.0.1:8700';
