import type { Command } from 'commander';
import type { OperatorFlags } from './commands/swarm-operate.js';
import type { RunStudioFlags } from './commands/start-studio.js';
import { type Act, json, overridesHelp, withStudio, serverOf } from './program-parts.js';

/** The commands below `ajet swarm`: a server, its clients, and the commands of an operator from any machine. */

export type SwarmFlags = RunStudioFlags & {
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
  readonly allowCode?: boolean;
  readonly publicUrl?: string;
  readonly drainSeconds?: string;
  /** False if `--no-keys` is set. */
  readonly keys?: boolean;
  readonly logFormat?: string;
  readonly json?: boolean;
};
export type SwarmRunFlags = {
  /** Undefined if a program after `--` replaces the workflow. */
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
  readonly inside?: boolean;
  readonly endpointHost?: string;
  readonly endpointPort?: string;
  readonly endpointUrl?: string;
  readonly acp?: boolean;
  readonly agent?: string;
  readonly timeout?: string;
  readonly untrained?: readonly string[];
  readonly debugModel?: readonly string[];
  /** False if `--no-portable` is set. */
  readonly portable?: boolean;
  readonly replaceTasks?: boolean;
  readonly keyFile?: string;
  /** False if `--no-keys` is set. */
  readonly keys?: boolean;
  readonly logFormat?: string;
  readonly json?: boolean;
};
export type VerifyFlags = { readonly json?: boolean };

export function addSwarm(program: Command, act: Act): void {
  const swarm = program
    .command('swarm')
    .description('Commands for a swarm: one model that learns from agents on other machines.');
  withStudio(swarm.command('serve'))
    .description(
      'Serves the model to agents on other machines and trains on their reports. After a crash, the same command continues.',
    )
    .usage('--conf <file.yaml> [options] [key.path=value ...]')
    .argument('[overrides...]', overridesHelp)
    .option('--conf <file>', 'the YAML file with the model and its training')
    .option(
      '--standby <folder>',
      'without --conf: wait for `ajet swarm begin` from any machine; the folder keeps the runs and the key',
    )
    .option('--backbone <name>', 'onnx or torch')
    .option('--port <number>', 'default: 8700; 0 picks a free one')
    .option('--host <address>', 'default: 127.0.0.1, which only this machine can reach')
    .option('--run <folder>', "the run to continue; default: the experiment's newest, if it has a ledger")
    .option('--new', 'begin a new run')
    .option('--from <checkpoint>', 'go back to a checkpoint, such as step-20; later steps are void')
    .option('--take-over', 'take over the ledger of a server that may still be alive; that server stops')
    .option('--tls-cert <file>', 'TLS certificate, which is needed if other machines connect')
    .option('--tls-key <file>', 'key of the certificate')
    .option('--behind-proxy', 'declare that a proxy in front of the server uses TLS')
    .option('--public-url <url>', 'address at which clients reach the server; default: the address of their requests')
    .option('--drain-seconds <number>', 'maximum time for running episodes to end after SIGTERM; default: 30')
    .option('--no-keys', 'require no keys, which is allowed only on this machine')
    .option('--log-format <format>', logFormatHelp)
    .option(
      '--allow-code',
      'with --standby: let `ajet swarm begin` name code, programs, files and folders of this machine',
    )
    .option('--json', 'one line of JSON on stdout when it listens; everything else goes to stderr')
    .action(act(async () => (await import('./commands/serve-swarm.js')).serveSwarmJob));
  addRun(swarm, act);
  addStores(swarm, act);
  addOperations(swarm, act);
}

const logFormatHelp = 'text or json; default: text';

const serverHelp =
  'address of the server, or the near end of a tunnel to it; default: AJET_SWARM_SERVER or http://127.0.0.1:8700';

function addRun(swarm: Command, act: Act): void {
  swarm
    .command('run')
    .description(
      'Runs the workflow of a YAML file, or any program, for a server and reports rewards. The key comes from AJET_SWARM_KEY.',
    )
    .usage('--conf <file.yaml> [options] [key.path=value ...] | [options] -- <program> [argument ...]')
    .argument('[overrides...]', overridesHelp)
    .option(
      '--conf <file>',
      'the YAML file with workflow, tasks and judge; for a program: with its judge, and its tasks if no others are named',
    )
    .option('--server <url>', serverHelp)
    .option(
      '--client <name>',
      'name of this program, which no other program uses now; default: the machine and the folder',
    )
    .option(
      '--revision <name>',
      'revision of the agent and reward code; default: derived from the files of workflow and judge',
    )
    .option('--share <name>', 'the kind of task that this client runs, if the server has several')
    .option(
      '--parallel <number>',
      'maximum number of concurrent episodes; default: rollout.max_env_worker, or the number of the server if that is auto',
    )
    .option(
      '--tasks <file>',
      'for a program: tasks, one JSON object per line; default: the tasks that other clients have sent',
    )
    .option('--task <file>', 'for a program: one task, as JSON')
    .option(
      '--reward <command>',
      'for a program: the last line of its output is the reward; default: 1 if the program exits with 0',
    )
    .option('--folder <folder>', 'for a program: folder that is copied for each episode and is its working directory')
    .option('--inside', 'for a program: run it inside of the environment of its task, such as a container of Harbor')
    .option('--endpoint-host <address>', 'where agents reach their model on this machine; default: 127.0.0.1')
    .option('--endpoint-port <number>', 'its port; default: a free one')
    .option('--endpoint-url <url>', 'the address of it that agents get, if they run on other machines')
    .option('--acp', 'for a program: it is an agent of the Agent Client Protocol, which gets the task as a prompt')
    .option('--agent <name>', 'for a program: its name in the records; default: agent')
    .option('--timeout <seconds>', 'for a program: time limit, after which the episode fails; default: 1800')
    .option('--untrained <patterns...>', 'for a program: models whose answers are not trained, such as *haiku*')
    .option('--debug-model <pattern=model...>', 'for a program: models to call at AJET_DEBUG_BASE_URL')
    .option('--no-portable', 'keep the content of tasks here, so only clients that have them can run them')
    .option('--replace-tasks', 'go back to a list of tasks that a newer one has replaced')
    .option(
      '--key-file <file>',
      'file with the key, or - for standard input, which is read once; default: AJET_SWARM_KEY',
    )
    .option('--no-keys', 'the server needs no key')
    .option('--log-format <format>', logFormatHelp)
    .option(...json)
    .action(act(async () => (overrides: string[], given: GivenRunFlags) => runClient(swarm, overrides, given)));
}

type GivenRunFlags = Omit<SwarmRunFlags, 'server'> & { readonly server?: string };

/** Runs the program after `--`, or the workflow of the YAML file. */
async function runClient(swarm: Command, overrides: readonly string[], given: GivenRunFlags): Promise<number> {
  const flags = { ...given, server: serverOf(given) };
  const program = afterDashes(swarm.parent);
  if (program.length === 0) {
    if (given.inside === true || given.acp === true)
      swarm.error('error: --inside and --acp run a program, so name it after --');
    const { runSwarm } = await import('./commands/run-swarm.js');
    return runSwarm(flags, overrides);
  }
  const settings = overrides.slice(0, overrides.length - program.length);
  if (flags.conf === undefined && settings.length > 0)
    swarm.error('error: settings before -- change a YAML file, so name the file with --conf');
  const { runProgram } = await import('./commands/run-program.js');
  return runProgram(flags, program, settings);
}

function addStores(swarm: Command, act: Act): void {
  swarm
    .command('backup')
    .description('Copies a run, while its server continues, to a folder from which another server can continue.')
    .argument('<run>', 'run folder')
    .argument('<folder>', 'a new folder')
    .option('--json', 'one line of JSON')
    .action(act(async () => (await import('./commands/backup-run.js')).backupRun));
  swarm
    .command('verify')
    .description('Reads the ledger of a run offline and says where every acknowledged episode is.')
    .argument('<run>', 'run folder, or the folder of its ledger')
    .option('--json', 'one line of JSON')
    .action(act(async () => (await import('./commands/verify-store.js')).verifyRunStore));
}

/** The arguments after `--`. */
function afterDashes(program: Command | null): readonly string[] {
  const typed = (program as { readonly rawArgs?: readonly string[] } | null)?.rawArgs ?? [];
  const at = typed.indexOf('--');
  return at < 0 ? [] : typed.slice(at + 1);
}

/** Adds the options of every command that sends a request to a server. */
const toServer = (command: Command): Command =>
  command
    .option('--server <url>', serverHelp)
    .option('--no-keys', 'the server needs no key')
    .option('--json', 'one line of JSON on stdout');

function addOperations(swarm: Command, act: Act): void {
  toServer(swarm.command('status'))
    .description(
      'Shows what the server does now, and what the next step waits for. The key of this command and the ones below comes from AJET_SWARM_KEY.',
    )
    .action(act(async () => (await import('./commands/swarm-operate.js')).showStatus));
  toServer(swarm.command('top'))
    .description('Shows the same on the whole screen, live. Keys: c clients, e episodes, s summary, q leave.')
    .action(act(async () => (await import('./commands/swarm-top.js')).watchSwarm));
  toServer(swarm.command('set'))
    .description('Changes settings while training runs, such as trainer_common.optim.lr=1e-5.')
    .argument('<key=value...>')
    .action(act(async () => (await import('./commands/swarm-operate.js')).setConfig));
  toServer(swarm.command('shares'))
    .description('Shows the shares of a batch, or sets their parts, such as math=0.4 code=0.6.')
    .argument('[name=part...]')
    .action(act(async () => (await import('./commands/swarm-operate.js')).setShares));
  toServer(swarm.command('begin'))
    .description('Begins the run of a YAML file on a server that was started with --standby.')
    .argument('[overrides...]', overridesHelp)
    .requiredOption('--conf <file>', 'the YAML file; workflow, tasks and judge stay here')
    .option('--run <name>', 'continue a run that was ended, by the name that `ajet swarm end` printed')
    .action(act(async () => (await import('./commands/begin-run.js')).beginRun));
  toServer(swarm.command('end'))
    .description('Ends the run of a server that was started with --standby, so another run may begin.')
    .action(act(async () => (await import('./commands/swarm-operate.js')).endRun));
  for (const operation of operations)
    toServer(swarm.command(operation))
      .description(describeOperation[operation])
      .action(
        act(async () => {
          const { operate } = await import('./commands/swarm-operate.js');
          return (flags: OperatorFlags) => operate(operation, flags);
        }),
      );
  toServer(swarm.command('audit'))
    .description('Shows who asked the server for what, and when.')
    .action(act(async () => (await import('./commands/swarm-operate.js')).showAudit));
  addKeys(swarm, act);
  addEpisodes(swarm, act);
}

const operations = ['pause', 'resume', 'drain', 'stop', 'start', 'checkpoint'] as const;

const describeOperation: Readonly<Record<(typeof operations)[number], string>> = {
  pause: 'Makes model calls wait and makes no step until `resume`.',
  resume: 'Ends a pause.',
  drain: 'Draws no new tasks and trains the sampled groups. `start` ends it.',
  stop: 'Drops everything in flight and accepts no claims. `start` ends it.',
  start: 'Ends a drain or a stop, and reopens a policy that stopped.',
  checkpoint: 'Saves a checkpoint as soon as no step is being made.',
};

function addKeys(swarm: Command, act: Act): void {
  const keys = swarm.command('keys').description('Manages keys for workers, observers and other commanders.');
  toServer(keys.command('list', { isDefault: true }))
    .description('Lists all keys without their secrets.')
    .action(act(async () => (await import('./commands/swarm-operate.js')).printKeyList));
  toServer(keys.command('make'))
    .description('Makes a key, and shows it once.')
    .argument('<name>')
    .option('--role <role>', 'worker (the default), observer or commander')
    .option('--shares <names>', 'shares that it may claim, separated by commas; default: all')
    .option('--scores <names>', 'shares whose groups it may score, separated by commas')
    .option('--max-episodes <number>', 'maximum number of its concurrent episodes')
    .option('--reward-bounds <least,most>', 'rewards that it may give in an episode, such as -1,1')
    .option('--limits <names>', 'other limits as <name>=<number>, separated by commas')
    .option('--expires <time>', 'expiry, such as 2027-01-31T00:00:00Z')
    .action(act(async () => (await import('./commands/swarm-operate.js')).makeKey));
  toServer(keys.command('delete'))
    .description('Deletes a key and gives its running episodes back.')
    .argument('<name>')
    .action(act(async () => (await import('./commands/swarm-operate.js')).deleteKey));
}

function addEpisodes(swarm: Command, act: Act): void {
  const episodes = swarm.command('episodes').description('Lists or drops episodes.');
  toServer(episodes.command('list', { isDefault: true }))
    .description('Lists running and known episodes in the order of their claims.')
    .option('--state <state>', 'running, ended, pooled, assigned, trained, evaluated or dropped')
    .option('--limit <number>', 'maximum number of episodes; default: 100')
    .action(act(async () => (await import('./commands/swarm-operate.js')).printEpisodeList));
  toServer(episodes.command('drop'))
    .description('Drops episodes that were claimed with a key and are in no step yet. Their places are open again.')
    .requiredOption('--key <name>', 'name of the key')
    .action(act(async () => (await import('./commands/swarm-operate.js')).dropEpisodes));
}
