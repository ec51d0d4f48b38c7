import { execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installNode, type NodeRelease } from '../../.ci/nodes.mjs';
import { root } from '../../.ci/workspaces.mjs';
import { countTests, findWarnings } from './read-output.js';

export type NodeOutcome = {
  readonly node: string;
  readonly passed: number;
  readonly failed: number;
  readonly warnings: number;
  /** The lines that were counted, and the lines that name failures. */
  readonly lines: readonly string[];
  readonly place: string;
  readonly minutes: number;
};

type Place = {
  readonly dir: string;
  readonly home: string;
  readonly ids: { readonly uid?: number; readonly gid?: number };
};

const nobody = 65_534;

/**
 * Runs `npm start` and `npm test` of the commit in a new folder under another Node. With `isOrdinary` it runs as an
 * ordinary user, without `.git`.
 */
export async function runCommands(release: NodeRelease, isOrdinary: boolean): Promise<NodeOutcome> {
  const startedAt = performance.now();
  const scratch = mkdtempSync(path.join(tmpdir(), isOrdinary ? 'agentjet ä ö ' : 'agentjet-node-'));
  try {
    const place = isOrdinary ? copyWithoutGit(scratch) : cloneInto(scratch);
    const env = environmentOf(release, place);
    const start = await runNpm('start', place, env);
    const test = await runNpm('test', place, env);
    const warnings = [start, test].flatMap(({ output }) => findWarnings(output));
    const tests = countTests(test);
    const hasStarted = start.code === 0;
    return {
      node: release.version,
      passed: tests.passed + Number(hasStarted),
      failed: tests.failed + Number(!hasStarted),
      warnings: warnings.length,
      lines: [...warnings, ...(hasStarted ? [] : start.output.split('\n').slice(-20)), ...tests.lines],
      place: isOrdinary ? 'a folder with a space and an umlaut, without .git, as an ordinary user' : 'a clone',
      minutes: Math.round((performance.now() - startedAt) / 600) / 100,
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function cloneInto(scratch: string): Place {
  const [dir, home] = [path.join(scratch, 'agentjet'), path.join(scratch, 'home')];
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, dir], { stdio: 'pipe' });
  mkdirSync(home);
  return { dir, home, ids: {} };
}

/**
 * Copies the sources without `.git`. Only root can switch to another user, and any other user is already an ordinary
 * one.
 */
function copyWithoutGit(scratch: string): Place {
  const ids = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const [dir, home] = [path.join(scratch, 'agentjet'), path.join(scratch, 'home')];
  for (const folder of [dir, home]) mkdirSync(folder);
  if (ids.uid !== undefined) for (const folder of [scratch, dir, home]) chownSync(folder, ids.uid, ids.gid);
  const files = execFileSync('git', ['archive', 'HEAD'], { cwd: root, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', dir], { input: files, ...ids });
  return { dir, home, ids };
}

const ofOurCaller = /^(npm_|NODE_(OPTIONS|NO_|PENDING_|REDIRECT_)|AJET_|TSX_|VITEST|INIT_CWD$|PROPERTY_SEED$|XDG_)/i;

/**
 * Returns the environment of a user's terminal, without the variables of npm, of the test runner and of our settings.
 */
function environmentOf(release: NodeRelease, { home }: Place): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !ofOurCaller.test(name));
  const PATH = [...installNode(release), process.env['PATH'] ?? ''].join(path.delimiter);
  const npm_config_registry = execFileSync('npm', ['config', 'get', 'registry'], {
    cwd: root,
    encoding: 'utf8',
  }).trim();
  return { ...Object.fromEntries(kept), PATH, HOME: home, npm_config_registry };
}

function runNpm(
  script: string,
  { dir, ids }: Place,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn('npm', [script], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'], ...ids });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
