import type { Command } from 'commander';
import { type Act, json } from './program-parts.js';

export type StudioFlags = {
  readonly host?: string;
  readonly port?: string;
  readonly swarm?: string;
  readonly chat?: readonly string[];
  readonly json?: boolean;
};
export type StudioExportFlags = {
  readonly output?: string;
  readonly episodes?: string;
  readonly maxEpisodes?: string;
  readonly redact?: boolean;
  readonly json?: boolean;
};
export type StudioShowFlags = { readonly quote?: string; readonly port?: string; readonly json?: boolean };
export type StudioCheckFlags = { readonly json?: boolean };

/** Adds `ajet studio` and its subcommands. */
export function addStudio(program: Command, act: Act): void {
  const studio = program
    .command('studio')
    .description('Shows the runs below a folder in a browser, finished or running, until Ctrl-C. It only reads.')
    .argument('[folder]', 'a folder that contains runs, or a run; default: saved_experiments')
    .option('--port <number>', 'default: 0, which picks a free one')
    .option('--host <address>', 'default: 127.0.0.1, which only this machine can reach')
    .option('--swarm <url>', 'also show a swarm server: clients, episodes, shares; its key is AJET_SWARM_KEY')
    .option(
      '--chat <name=url...>',
      'also speak to models that `ajet serve` serves, side by side, such as before=http://127.0.0.1:8000; their key is AJET_SERVE_KEY',
    )
    .option('--json', 'one line of JSON on stdout when it listens; everything else goes to stderr')
    .action(act(async () => (await import('./commands/run-studio.js')).runStudio));
  addExport(studio, act);
  studio
    .command('show')
    .description('Makes every open page of a studio show a view, such as an episode with a marked quote.')
    .argument('<address>', 'address of the view, as in the browser: "#/run/<id>/episode/<episode>"')
    .option('--quote <text>', 'words to mark in the episode')
    .option('--port <number>', 'port of the studio; needed if several are open')
    .option(...json)
    .action(act(async () => (await import('./commands/show-in-studio.js')).showInStudio));
  studio
    .command('check')
    .description(
      'Checks that each link of a report leads to an episode, a token or a quote. Exits with 1 if one does not.',
    )
    .argument('<report.md>', 'a report in Markdown with links such as [why](#/run/<id>/episode/<episode>?quote=…)')
    .argument('[folder]', 'a folder that contains the runs; default: saved_experiments')
    .option(...json)
    .action(act(async () => (await import('./commands/check-studio-report.js')).checkStudioReport));
}

function addExport(studio: Command, act: Act): void {
  studio
    .command('export')
    .description('Writes a run as one page that needs no server and no network, and says first how large it is.')
    .argument('<run>', 'a run folder')
    .option('-o, --output <file>', 'default: <name of the run>.html')
    .option(
      '--episodes <filter>',
      'episodes to include with their tokens, as in the address of the table of episodes, such as "result=failure&step=60"; default: those of the last step',
    )
    .option('--max-episodes <number>', 'default: 200, the newest ones')
    .option('--redact', 'leave out all texts and settings, and keep the figures')
    .option(...json)
    .action(act(async () => (await import('./commands/export-studio.js')).exportStudio));
}
