import { randomUUID } from 'node:crypto';
import { lastLine } from '../process/watch-limits.js';
import { boxEngines, callEngine, findBoxEngine, type BoxEngine, type BoxEngineName } from './engine.js';
import { labelArguments, ownLabels } from './labels.js';
import { removeBox } from './remove-box.js';
import { smallestProgram } from './smallest-program.js';
import { packFile } from './tar.js';

/** An engine that answers may still be unable to start a container. One real start shows it. */

/** The image of the start: one program, which ends at once. */
const image = 'localhost/agentjet/start:1';
const engineSeconds = 60;

/** What the start of a container showed, by the path of the engine's program. */
const known = new Map<string, Promise<string | null>>();

/**
 * Returns the first engine of the list that starts a container, or a description of what is missing and its repair. Each
 * engine is tried once in this process, unless it failed.
 */
export async function findWorkingEngine(
  names: readonly BoxEngineName[] = boxEngines,
  folders?: readonly string[],
): Promise<BoxEngine | string> {
  const problems: string[] = [];
  for (const name of names) {
    const engine = findBoxEngine([name], folders);
    const problem = typeof engine === 'string' ? engine : await whyNoStart(engine);
    if (typeof engine !== 'string' && problem === null) return engine;
    problems.push(problem ?? '');
  }
  return problems.join('; ');
}

/** Starts a container and returns null, or says why that is impossible. */
function whyNoStart(engine: BoxEngine): Promise<string | null> {
  const work = known.get(engine.program) ?? tryStart(engine).catch((error: unknown) => String(error));
  known.set(engine.program, work);
  void work.then((problem) => problem !== null && known.delete(engine.program));
  return work;
}

async function tryStart(engine: BoxEngine): Promise<string | null> {
  const found = await callEngine(engine, ['image', 'inspect', '--format', '{{.Id}}', image], {
    seconds: engineSeconds,
  });
  const stdin = packFile('start', smallestProgram(), 0o755);
  if (found.status !== 0) {
    const imported = await callEngine(engine, ['import', '-', image], { seconds: engineSeconds, stdin });
    if (imported.status !== 0) return describe(engine, imported.stderr);
  }
  const name = `ajet-start-${randomUUID().slice(0, 13)}`;
  const flags = ['--name', name, '--pull', 'never', '--network', 'none', '--pids-limit', '4096'];
  const run = ['run', '--rm', ...labelArguments(ownLabels()), ...flags, image, '/start'];
  try {
    const { status, stderr } = await callEngine(engine, run, { seconds: engineSeconds });
    // An engine of another architecture started the container, but cannot run the program.
    return status === 0 || /exec format error/i.test(stderr) ? null : describe(engine, stderr);
  } catch (error) {
    await removeBox(engine, name).catch(() => undefined);
    throw error;
  }
}

const limits = 'default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]';

/** Known reasons, and what repairs them. */
const repairs: readonly { readonly says: RegExp; readonly repair: string }[] = [
  {
    says: /rlimit/i,
    repair: `This machine does not let podman raise limits. Write a file with the lines [containers] and ${limits}, and set the environment variable CONTAINERS_CONF to its path.`,
  },
  {
    says: /cgroup/i,
    repair:
      'Install runc, write a file with the lines [engine] and runtime = "runc", and set the environment variable CONTAINERS_CONF to its path.',
  },
];

function describe({ name }: BoxEngine, said: string): string {
  const why = lastLine(said) || 'no answer';
  const repair =
    repairs.find(({ says }) => says.test(why))?.repair ?? `\`${name} run --rm ${image} /start\` repeats it.`;
  return `${name} cannot start a container: ${why}. ${repair} docs/harbor-tasks.md has more`;
}
