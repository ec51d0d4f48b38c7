import { Option, type Command } from 'commander';
import { type Act, json } from './program-parts.js';

/** `ajet inspect`: episodes of a run. The flags after `tokens` select episodes and show what they were asked and answered. */
export type InspectFlags = {
  readonly html?: boolean | string;
  readonly atif?: string;
  readonly tokens?: boolean;
  readonly failed?: boolean;
  readonly task?: string;
  readonly step?: string;
  readonly kind?: string;
  readonly phase?: 'train' | 'evaluation';
  readonly find?: string;
  readonly sort?: 'reward' | 'seconds' | 'tokens';
  readonly beforeAfter?: boolean;
  readonly json?: boolean;
};

export function addInspect(program: Command, act: Act): void {
  program
    .command('inspect')
    .description('Shows the episodes of a run, what they were asked and answered, or one episode token by token.')
    .argument('<run>', 'run folder')
    .argument('[episode]', 'episode id, or the beginning of one; default: list the episodes')
    .option('--tokens', 'a line per token: place, id, author, mask, logprob, text')
    .option('--html [file]', "write the studio's page of the episode as one file")
    .option('--atif <folder>', 'write the episodes, or the named one, as trajectories in ATIF 1.8, one file each')
    .option('--failed', 'question, expected answer, answer, reward and reason of episodes without success')
    .option('--task <id>', 'the same for the episodes of a task')
    .option('--step <number>', 'the same for the episodes of a step; an evaluation before training is step 0')
    .option('--kind <name>', 'the same for a kind of task; trainer_common.report_by names the field')
    .addOption(new Option('--phase <name>', 'the same for one phase').choices(['train', 'evaluation']))
    .option('--find <words>', 'the same for episodes whose question, answers, reason or errors contain the words')
    .addOption(
      new Option('--sort <order>', 'lowest reward or most seconds or tokens first').choices([
        'reward',
        'seconds',
        'tokens',
      ]),
    )
    .option('--before-after', 'by task: what was gained and lost from the first to the last evaluation')
    .option(...json)
    .action(act(async () => (await import('./commands/inspect-run.js')).inspectRun));
}
