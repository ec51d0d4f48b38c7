import type { Command } from 'commander';
import type { BeginFlags } from './commands/begin-run.js';
import type { EpisodesFlags, MakeKeyFlags, OperatorFlags } from './commands/swarm-operate.js';
import { serverOf } from './commands/server-of.js';

/** The commands below `ajet swarm`: a server, its clients, and what an operator does from any machine. */

export const overridesHelp = 'settings that change the file, such as trainer_common.optim.lr=1e-5';

export type SwarmFlags = {
  /** Undefined with `--standby`. */
  readonly conf?: string;
  readonly standby?: string;
  readonly backbone?: string;
  readonly host?: string;
  readonly port?: string;
  readonly run?: string;
  readonly new?: boolean;
  readonly from?: string;
  readonly takeOver?: boolean;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly behindProxy?: boolean;
  readonly publicUrl?: string;
  readonly drainSeconds?: string;
  /** False: `--no-keys`. */
  readonly keys?: boolean;
  readonly json?: boolean;
};
export type SwarmRunFlags = {
  /** Undefined: a program after `--` takes the place of a workflow. */
  readonly conf?: string;
  readonly server: string;
  readonly client?: string;
  readonly revision?: string;
  readonly share?: string;
  readonly parallel?: string;
  readonly tasks?: string;
  readonly task?: string;
  readonly reward?: string;
  readonly folder?: string;
  readonly agent?: string;
  readonly timeout?: string;
  readonly untrained?: readonly string[];
  readonly debugModel?: readonly string[];
  /** False: `--no-portable`. */
  readonly portable?: boolean;
  /** False: `--no-keys`. */
  readonly keys?: boolean;
  readonly json?: boolean;
};
export type VerifyFlags = { readonly json?: boolean };
export function addSwarm(program: Command, setExitCode: (code: number) => void): void {
  const swarm = program
    .command('swarm')
    .description('What belongs to a swarm: a model that agents elsewhere learn with.');
  swarm
    .command('serve')
    .description(
      'Serves the model to agents on other machines, and trains on what they report. The same command goes on after a crash.',
    )
    .usage('--conf <file.yaml> [options] [key.path=value ...]')
    .argument('[overrides...]', overridesHelp)
    .option('--conf <file>', 'the YAML file: the model, and how it is trained')
    .option(
      '--standby <folder>',
      'instead of --conf: wait for `ajet swarm begin` from any machine; runs and the key are kept in the folder',
    )
    .option('--backbone <name>', 'onnx or torch')
    .option('--port <number>', 'default: 8700; 0 picks a free one')
    .option('--host <address>', 'default: 127.0.0.1, this machine alone')
    .option('--run <folder>', "the run to go on with; default: the experiment's newest, if it has a ledger")
    .option('--new', 'begin a new run')
    .option('--from <checkpoint>', 'go back to a checkpoint, such as step-20: the steps after it are void')
    .option('--take-over', 'take the ledger over from a server that may still be alive; that one stops')
    .option('--tls-cert <file>', 'certificate; beyond this machine TLS is needed')
    .option('--tls-key <file>', 'its key')
    .option('--behind-proxy', 'a proxy in front of the server speaks TLS')
    .option('--public-url <url>', 'how clients reach the server; default: as their requests say')
    .option('--drain-seconds <number>', 'after SIGTERM: most seconds that running episodes have to end; default: 30')
    .option('--no-keys', 'ask for no keys; on this machine alone')
    .option('--json', 'one line of JSON on stdout when it listens; everything else goes to stderr')
    .action(async (overrides: string[], flags: SwarmFlags) => {
      const { serveSwarmJob } = await import('./commands/serve-swarm.js');
      setExitCode(await serveSwarmJob(flags, overrides));
    });
  addRun(swarm, setExitCode);
  addStores(swarm, setExitCode);
  addOperations(swarm, setExitCode);
}

const serverHelp =
  'of the server, or the near end of a tunnel to it; default: AJET_SWARM_SERVER, else http://127.0.0.1:8700';

function addRun(swarm: Command, setExitCode: (code: number) => void): void {
  swarm
    .command('run')
    .description(
      "Runs the YAML's workflow, or any program, for a server, and reports rewards. The key comes from AJET_SWARM_KEY.",
    )
    .usage('--conf <file.yaml> [options] [key.path=value ...] | [options] -- <program> [argument ...]')
    .argument('[overrides...]', overridesHelp)
    .option(
      '--conf <file>',
      'the YAML file: workflow, tasks, judge; for a program: its judge, and tasks if none are named',
    )
    .option('--server <url>', serverHelp)
    .option('--client <name>', 'of this program, which no other uses now; default: the machine and the folder')
    .option('--revision <name>', 'of the agent and reward code; default: follows from the files of workflow and judge')
    .option('--share <name>', 'the kind of task that this client runs, if the server has several')
    .option('--parallel <number>', 'episodes at the same time; default: rollout.max_env_worker')
    .option(
      '--tasks <file>',
      'for a program: tasks, one JSON object a line; default: those that others have told the server',
    )
    .option('--task <file>', 'for a program: one task, as JSON')
    .option('--reward <command>', 'for a program: its last line is the reward; default: 1 if the program ends with 0')
    .option('--folder <folder>', 'for a program: copied for each episode, and its working directory')
    .option('--agent <name>', 'for a program: what it is called in the records; default: agent')
    .option('--timeout <seconds>', 'for a program: a longer run fails; default: 1800')
    .option('--untrained <patterns...>', 'for a program: models whose answers are not trained, such as *haiku*')
    .option('--debug-model <pattern=model...>', 'for a program: models that are asked at AJET_DEBUG_BASE_URL instead')
    .option('--no-portable', 'keep the content of tasks here: only clients that have them can run them')
    .option('--no-keys', 'the server asks for no key')
    .option('--json', 'end with one line of JSON on stdout; everything else goes to stderr')
    .action(async (overrides: string[], given: Omit<SwarmRunFlags, 'server'> & { readonly server?: string }) => {
      const flags = { ...given, server: serverOf(given) };
      const program = afterDashes(swarm.parent);
      if (program.length === 0) {
        const { runSwarm } = await import('./commands/run-swarm.js');
        return setExitCode(await runSwarm(flags, overrides));
      }
      const settings = overrides.slice(0, overrides.length - program.length);
      if (flags.conf === undefined && settings.length > 0)
        swarm.error('error: settings before -- change a YAML file: name it with --conf');
      const { runProgram } = await import('./commands/run-program.js');
      setExitCode(await runProgram(flags, program, settings));
    });
}

function addStores(swarm: Command, setExitCode: (code: number) => void): void {
  swarm
    .command('backup')
    .description('Copies a run, while its server goes on, to a folder from which another server can go on.')
    .argument('<run>', 'run folder')
    .argument('<folder>', 'a new folder')
    .option('--json', 'one line of JSON')
    .action(async (run: string, folder: string, flags: VerifyFlags) => {
      const { backupRun } = await import('./commands/backup-run.js');
      setExitCode(await backupRun(run, folder, flags));
    });
  swarm
    .command('verify')
    .description('Folds the ledger of a run offline, and says where every acknowledged episode is.')
    .argument('<run>', 'run folder, or the folder of its ledger')
    .option('--json', 'one line of JSON')
    .action(async (run: string, flags: VerifyFlags) => {
      const { verifyRunStore } = await import('./commands/verify-store.js');
      setExitCode(await verifyRunStore(run, flags));
    });
}

/** What was typed after `--`. */
function afterDashes(program: Command | null): readonly string[] {
  const typed = (program as { readonly rawArgs?: readonly string[] } | null)?.rawArgs ?? [];
  const at = typed.indexOf('--');
  return at < 0 ? [] : typed.slice(at + 1);
}

type Add = (swarm: Command, setExitCode: (code: number) => void) => void;

/** Options of every command that asks a server for something. */
const toServer = (command: Command): Command =>
  command
    .option('--server <url>', serverHelp)
    .option('--no-keys', 'the server asks for no key')
    .option('--json', 'one line of JSON on stdout');

const addOperations: Add = (swarm, setExitCode) => {
  toServer(swarm.command('status'))
    .description('What the server does now. The key of this and the commands below comes from AJET_SWARM_KEY.')
    .action(async (flags: OperatorFlags) => {
      const { showStatus } = await import('./commands/swarm-operate.js');
      setExitCode(await showStatus(flags));
    });
  toServer(swarm.command('top'))
    .description('The same, drawn anew with each change, until Ctrl-C.')
    .action(async (flags: OperatorFlags) => {
      const { watchSwarm } = await import('./commands/swarm-top.js');
      setExitCode(await watchSwarm(flags));
    });
  toServer(swarm.command('set'))
    .description('Changes settings while training runs, such as trainer_common.optim.lr=1e-5.')
    .argument('<key=value...>')
    .action(async (assignments: string[], flags: OperatorFlags) => {
      const { setConfig } = await import('./commands/swarm-operate.js');
      setExitCode(await setConfig(assignments, flags));
    });
  toServer(swarm.command('shares'))
    .description('Shows the shares of a batch, or gives them other parts, such as math=0.4 code=0.6.')
    .argument('[name=part...]')
    .action(async (assignments: string[], flags: OperatorFlags) => {
      const { setShares } = await import('./commands/swarm-operate.js');
      setExitCode(await setShares(assignments, flags));
    });
  toServer(swarm.command('begin'))
    .description('Begins the run of a YAML file on a server that was started with --standby.')
    .argument('[overrides...]', overridesHelp)
    .requiredOption('--conf <file>', 'the YAML file; workflow, tasks and judge stay here')
    .option('--run <name>', 'go on with a run that was ended, as `ajet swarm end` called it')
    .action(async (overrides: string[], flags: BeginFlags) => {
      const { beginRun } = await import('./commands/begin-run.js');
      setExitCode(await beginRun(flags, overrides));
    });
  toServer(swarm.command('end'))
    .description('Ends the run of a server that was started with --standby; then another may begin.')
    .action(async (flags: OperatorFlags) => {
      const { endRun } = await import('./commands/swarm-operate.js');
      setExitCode(await endRun(flags));
    });
  for (const operation of operations)
    toServer(swarm.command(operation))
      .description(describeOperation[operation])
      .action(async (flags: OperatorFlags) => {
        const { operate } = await import('./commands/swarm-operate.js');
        setExitCode(await operate(operation, flags));
      });
  toServer(swarm.command('audit'))
    .description('Who asked the server for what, and when.')
    .action(async (flags: OperatorFlags) => {
      const { showAudit } = await import('./commands/swarm-operate.js');
      setExitCode(await showAudit(flags));
    });
  addKeys(swarm, setExitCode);
  addEpisodes(swarm, setExitCode);
};

const operations = ['pause', 'resume', 'drain', 'stop', 'start', 'checkpoint'] as const;

const describeOperation: Readonly<Record<(typeof operations)[number], string>> = {
  pause: 'Model calls wait, and no step is made, until `resume`.',
  resume: 'Ends a pause.',
  drain: 'Draws no new tasks; what is sampled is trained. `start` ends it.',
  stop: 'Drops what is in flight, and takes no more claims. `start` ends it.',
  start: 'Ends a drain or a stop, and opens a policy that stopped again.',
  checkpoint: 'Saves a checkpoint as soon as no step is being made.',
};

const addKeys: Add = (swarm, setExitCode) => {
  const keys = swarm.command('keys').description('Keys for workers, observers and other commanders.');
  toServer(keys.command('list', { isDefault: true }))
    .description('All keys, without their secrets.')
    .action(async (flags: OperatorFlags) => {
      const { printKeyList } = await import('./commands/swarm-operate.js');
      setExitCode(await printKeyList(flags));
    });
  toServer(keys.command('make'))
    .description('Makes a key, and shows it once.')
    .argument('<name>')
    .option('--role <role>', 'worker (the default), observer or commander')
    .option('--shares <names>', 'shares that it may claim, with commas; default: all')
    .option('--scores <names>', 'shares whose groups it may score, with commas')
    .option('--max-episodes <number>', 'most episodes that it may run at a time')
    .option('--expires <time>', 'such as 2027-01-31T00:00:00Z')
    .action(async (name: string, flags: MakeKeyFlags) => {
      const { makeKey } = await import('./commands/swarm-operate.js');
      setExitCode(await makeKey(name, flags));
    });
  toServer(keys.command('delete'))
    .description('Deletes a key; what it is running is given back.')
    .argument('<name>')
    .action(async (name: string, flags: OperatorFlags) => {
      const { deleteKey } = await import('./commands/swarm-operate.js');
      setExitCode(await deleteKey(name, flags));
    });
};

const addEpisodes: Add = (swarm, setExitCode) => {
  const episodes = swarm.command('episodes').description('Episodes and their states.');
  toServer(episodes.command('list', { isDefault: true }))
    .description('Running and known episodes, in the order of their claims.')
    .option('--state <state>', 'running, ended, pooled, assigned, trained, evaluated or dropped')
    .option('--limit <number>', 'at most so many; default: 100')
    .action(async (flags: EpisodesFlags) => {
      const { printEpisodeList } = await import('./commands/swarm-operate.js');
      setExitCode(await printEpisodeList(flags));
    });
  toServer(episodes.command('drop'))
    .description('Drops what was claimed with a key and is in no step yet: its places are open again.')
    .requiredOption('--key <name>', 'name of the key')
    .action(async (flags: EpisodesFlags) => {
      const { dropEpisodes } = await import('./commands/swarm-operate.js');
      setExitCode(await dropEpisodes(flags));
    });
};
