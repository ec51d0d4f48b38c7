import type { Command } from 'commander';
import { toFlag } from './commands/read-flags.js';
import { type Act, json, overridesHelp } from './program-parts.js';

/** `ajet judge`: three questions about a reward. Which one is asked depends on the flags. */
export type JudgeFlags = {
  readonly conf?: string;
  readonly examples?: string;
  readonly successFrom?: string;
  readonly audit?: boolean;
  readonly expected?: string;
  readonly tasks?: string;
  readonly failOn?: string;
  readonly run?: string;
  readonly step?: string;
  readonly json?: boolean;
};

const examples = `
Examples:
  ajet judge --conf agent.yaml --audit                          what does the reward pay for
  ajet judge --conf agent.yaml --audit --expected answer        ... compared with what right answers earn
  ajet judge --conf agent.yaml --audit --fail-on paid           ... exit with 1 if something that solves nothing is paid
  ajet judge --conf agent.yaml --examples labelled.jsonl        does the judge agree with people
  ajet judge --run saved_experiments/agent/2026-11-27T12-00-00  score the kept episodes again; nothing is sampled`;

export function addJudge(program: Command, act: Act): void {
  const judge = program
    .command('judge')
    .description('Checks a reward: what it pays for, whether it agrees with people, and what it says about a run.')
    .usage(
      '--conf <file.yaml> (--audit | --examples <labelled.jsonl>) [options] [key.path=value ...]\n       ajet judge --run <folder> [--step <n>] [--conf <file.yaml>]',
    )
    .argument('[overrides...]', overridesHelp)
    .option('--conf <file>', 'the YAML file of the job; with --run, the default is the configuration of the run')
    .option('--audit', 'play the workflow with scripted models that solve nothing, and with right answers')
    .option(
      '--expected <field>',
      "with --audit: the field of the tasks' metadata that holds the right answer; default: the field that the judge reads",
    )
    .option('--tasks <number>', 'with --audit: number of tasks; default: 20, and 10 if the judge asks a model')
    .option('--fail-on <what>', 'with --audit: paid exits with 1 if a strategy that solves nothing is paid')
    .option(
      '--examples <file>',
      "JSONL with main_query, answer (the agent's last message) and score (or label, is_success, ranked) in each line; or ATIF: a file or a folder",
    )
    .option('--run <folder>', 'score the kept episodes of this run again')
    .option('--step <number>', 'with --run: only the episodes of this step')
    .option(
      '--success-from <score>',
      'the lowest reward (with --examples, the lowest label) of a success; default: the verdicts say it (with --examples, half of the highest label)',
    )
    .option(...json)
    .addHelpText('after', examples)
    .action(act(async () => (overrides: string[], flags: JudgeFlags) => run(judge, flags, overrides)));
}

/** The flags that belong to each question. */
const flagsOf = {
  audit: ['expected', 'tasks', 'failOn', 'successFrom'],
  examples: ['successFrom'],
  run: ['step'],
} as const;

async function run(command: Command, flags: JudgeFlags, overrides: readonly string[]): Promise<number> {
  const refuse = (message: string): never => command.error(`error: ${message}`, { exitCode: 1 });
  const asked = (['audit', 'examples', 'run'] as const).filter((name) => flags[name] !== undefined);
  const [question] = asked;
  if (question === undefined || asked.length > 1)
    return refuse(
      `name one of --audit, --examples and --run${asked.length > 1 ? `, not ${asked.map((name) => `--${name}`).join(' and ')}` : ''}; \`ajet judge --help\` explains them.`,
    );
  const allowed: readonly string[] = flagsOf[question];
  const stray = Object.values(flagsOf)
    .flat()
    .find((name) => flags[name] !== undefined && !allowed.includes(name));
  if (stray !== undefined) return refuse(`${toFlag(stray)} has no effect with --${question}. Leave it out.`);
  const { conf, examples: file, run: folder } = flags;
  if (folder !== undefined) {
    const { printRescore } = await import('./commands/rescore-run.js');
    return printRescore({ ...flags, run: folder }, overrides);
  }
  if (conf === undefined) return refuse(`--${question} needs --conf <file.yaml>, the YAML file of the job.`);
  if (file !== undefined) {
    const { judgeExamples } = await import('./commands/judge-examples.js');
    return judgeExamples({ ...flags, conf, examples: file }, overrides);
  }
  const { printAudit } = await import('./commands/audit-reward.js');
  return printAudit({ ...flags, conf }, overrides);
}
