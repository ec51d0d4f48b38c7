import type { Command } from 'commander';

/** Adds the options that open the studio with a run. */
export const withStudio = (command: Command): Command =>
  command
    .option('--studio', 'open the studio with the run: its curves, groups and episodes in a browser')
    .option('--studio-port <number>', 'with --studio: default: 0, which picks a free one')
    .option('--studio-host <address>', 'with --studio: default: 127.0.0.1, which only this machine can reach');
