import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentError, EnvironmentOutage } from '@agentjet/core';
import { SandboxError } from '@agentjet/sandbox';
import {
  listArchive,
  NoLanguage,
  packFolder,
  type Box,
  type ExecOptions,
  type ExecResult,
} from '@agentjet/sandbox/boxes';
import { afterAll, describe, expect, it } from 'vitest';
import { absentEngine, harborSettings } from '../testing/harbor-settings.js';
import { spawnTalk } from '../testing/spawn-talk.js';
import { HarborSession, type HarborSettings } from './harbor-session.js';
import { readHarborTask } from './read-task.js';

const root = mkdtempSync(path.join(tmpdir(), 'session-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Answer = Partial<ExecResult> | Error;

/** A box in memory. It writes down what happens to it. `files` is what the verifier leaves. */
class MemoryBox implements Box {
  readonly name = 'b';
  readonly log: string[] = [];
  readonly files: Record<string, string>;
  answer: (command: string, options: ExecOptions) => Answer = (command) =>
    command.includes('test-stdout') ? { output: 'has-room\n' } : {};
  /** What is in the folders after they were emptied. */
  left: readonly string[] = [];

  constructor(files: Record<string, string> = {}) {
    this.files = files;
  }

  async exec(command: readonly string[], options: ExecOptions): Promise<ExecResult> {
    const text = command.join(' ');
    this.log.push(`exec ${options.user ?? '-'} ${text.includes('test-stdout') ? 'test.sh' : text}`);
    const answer = this.answer(text, options);
    if (answer instanceof Error) throw answer;
    return { status: 0, output: '', isOutOfTime: false, hasReported: true, ...answer };
  }

  async copyIn(archive: Parameters<Box['copyIn']>[0], folder: string): Promise<void> {
    this.log.push(`in ${folder}: ${(await listArchive(archive)).map(({ name }) => name).join(' ')}`);
  }

  async copyOut<T>(file: string, read: Parameters<Box['copyOut']>[1]): Promise<T | null> {
    const folder = mkdtempSync(path.join(root, 'out-'));
    if (file.startsWith('/logs/verifier/')) {
      this.log.push(`out ${file}`);
      const text = this.files[path.basename(file)];
      if (text === undefined) return null;
      writeFileSync(path.join(folder, 'f'), text);
      return (await read(packFolder(path.join(folder, 'f'), 'f'))) as T;
    }
    this.log.push(`check ${file}`);
    if (file === '/tests') return null;
    for (const name of this.left) writeFileSync(path.join(folder, name), '');
    return (await read(packFolder(folder, 'verifier'))) as T;
  }

  setNetwork = async (network: string): Promise<void> => void this.log.push(`network ${network}`);
  isRunning = async (): Promise<boolean> => true;
  stop = async (): Promise<void> => void this.log.push('stop');
  restart = async (): Promise<void> => void this.log.push('restart');
  talk: Box['talk'] = (command, options) => {
    this.log.push(`talk ${options.user ?? '-'} ${options.cwd}`);
    return spawnTalk(command, options);
  };
  forward: Box['forward'] = async () => {
    throw new NoLanguage('unavailable', 'none');
  };
  remove = async (): Promise<void> => void this.log.push('remove');
}

const workingPort = {
  port: 9,
  broken: new Promise<never>(() => undefined),
  check: async () => undefined,
  close: () => undefined,
};

async function openSession(
  box: MemoryBox,
  toml = '',
  { files = {}, ...more }: Partial<HarborSettings> & { readonly files?: Readonly<Record<string, string>> } = {},
): Promise<HarborSession> {
  const folder = mkdtempSync(path.join(root, 'task-'));
  for (const [name, text] of Object.entries({
    'task.toml': toml,
    'instruction.md': 'Do it.',
    'environment/Dockerfile': 'FROM x',
    'tests/test.sh': 'true',
    'solution/solve.sh': 'true',
    ...files,
  })) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  const machine = { box, shell: 'bash', workdir: '/app', hadTests: false, services: null, names: [] } as const;
  const task = await readHarborTask(folder);
  return new HarborSession(machine, {
    engine: absentEngine,
    task,
    episodeId: 'e',
    settings: { ...harborSettings, ...more },
  });
}

const verdictOf = async (files: Record<string, string>) => (await openSession(new MemoryBox(files))).evaluate();

describe('the tools of a task', () => {
  it('run as the user of the task, in its folder, and show output and status', async () => {
    const box = new MemoryBox();
    const seen: ExecOptions[] = [];
    box.answer = (_command, options) => {
      seen.push(options);
      return { status: 2, output: 'no\n' };
    };
    const session = await openSession(box, '[agent]\nuser = "worker"');
    expect(session.observation.text).toBe('Do it.');
    expect(session.tools.map(({ name }) => name)).toEqual(['bash', 'read', 'write']);
    expect(await session.call('bash', { command: 'make', timeout: 7 })).toEqual({
      text: 'no\n[exit code 2]',
      data: { output: 'no\n', status: 2 },
      isError: true,
    });
    expect(await session.call('read', { path: 'a', offset: 3, limit: 2 })).toEqual({ text: 'no', isError: true });
    await session.call('write', { path: 'd/f', content: 'text' });
    expect(seen[0]).toMatchObject({ user: 'worker', cwd: '/app', seconds: 7 });
    expect(seen[2]).toMatchObject({ stdin: 'text', seconds: 60 });
    expect(box.log[0]).toBe('exec worker bash -c make');
  });

  it.each([
    ['bash', {}, 'command is undefined'],
    ['bash', { command: 'a', timeout: 'soon' }, 'timeout is "soon"'],
    ['read', { path: 'a', offset: 0 }, 'offset is 0'],
    ['write', { path: 'a' }, 'content is undefined'],
    ['rm', {}, 'There is no tool "rm"'],
  ])('refuse %s %j', async (tool, args, message) => {
    const session = await openSession(new MemoryBox());
    await expect(session.call(tool, args)).rejects.toThrow(message);
    await expect(session.call(tool, args)).rejects.toThrow(EnvironmentError);
  });

  it('are lost with the engine', async () => {
    const box = new MemoryBox();
    box.answer = () => new SandboxError('failed', 'podman exec broke off');
    await expect((await openSession(box)).call('bash', { command: 'a' })).rejects.toThrow(EnvironmentOutage);
  });

  it('end with the time of the agent, and the task is scored as it is', async () => {
    const box = new MemoryBox({ 'reward.txt': '1' });
    const seconds: (number | null)[] = [];
    const usual = box.answer;
    box.answer = (command, options) => {
      if (command.includes('bash')) seconds.push(options.seconds);
      return command.includes('bash') ? { status: null, isOutOfTime: true } : usual(command, options);
    };
    const session = await openSession(box, '[agent]\ntimeout_sec = 5', { countModelTime: true });
    expect((await session.call('bash', { command: 'a' })).text).toMatch(/^\[The command was ended after [\d.]+ s\.\]$/);
    expect(seconds[0]).toBeLessThanOrEqual(5);
    const late = await openSession(box, '[agent]\ntimeout_sec = 0.000001', { countModelTime: true });
    await expect(late.call('bash', { command: 'b' })).rejects.toMatchObject({ code: 'time_over' });
    expect(await late.evaluate()).toEqual({ reward: 1, isSuccess: true });
    await expect(late.call('bash', { command: 'b' })).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('a program in the box', () => {
  const order = { command: ['agent', 'go'], env: { KEY: 'k' }, files: { '/logs/agent/q.txt': 'Q' }, stdin: 'in' };

  it('runs as the agent with its files, and its end is the result', async () => {
    const box = new MemoryBox();
    const seen: ExecOptions[] = [];
    box.answer = (command, options) => {
      seen.push(options);
      return command.startsWith('agent') ? { status: 3, output: 'done' } : {};
    };
    const session = await openSession(box, '[agent]\nuser = "worker"');
    expect(await session.run(order)).toEqual({ status: 3, output: 'done', isOutOfTime: false });
    expect(seen[0]).toMatchObject({ user: 'worker', stdin: 'Q' });
    expect(seen[1]).toMatchObject({ user: 'worker', cwd: '/app', env: { KEY: 'k' }, stdin: 'in', seconds: null });
    await expect(session.run({ command: [] })).rejects.toThrow('The command of a program is empty');
    await expect(session.run({ command: ['a'], files: { b: '' } })).rejects.toThrow('needs an absolute path');
  });

  it('is ended when its time is over, in which waiting for the model does not count', async () => {
    const box = new MemoryBox();
    const ended = { status: null, output: 'half', isOutOfTime: true, hasReported: false };
    box.exec = (_command, { limit }) =>
      new Promise((resolve) => limit?.addEventListener('abort', () => resolve(ended)));
    const session = await openSession(box, '[agent]\ntimeout_sec = 0.01');
    expect(await session.run({ command: ['a'] })).toEqual({ status: null, output: 'half', isOutOfTime: true });
    await expect(session.run({ command: ['a'] })).rejects.toMatchObject({ code: 'time_over' });
  });

  it('does not begin if writing its files took all of its time', async () => {
    const box = new MemoryBox();
    box.exec = async (command, { limit }) => {
      if (command[0] === 'sh') await sleep(60);
      box.log.push(`${command[0]} ${limit?.aborted}`);
      return { status: 0, output: '', isOutOfTime: false, hasReported: true };
    };
    const session = await openSession(box, '[agent]\ntimeout_sec = 0.05');
    expect(await session.run(order)).toEqual({ status: null, output: '', isOutOfTime: true });
    expect(box.log).toEqual(['sh undefined']);
  });

  it('is ended with the life of its box, even if it keeps a call of its model running', async () => {
    const box = new MemoryBox();
    const ended = { status: null, output: '', isOutOfTime: true, hasReported: false };
    box.exec = (_command, { limit }) =>
      new Promise((resolve) => limit?.addEventListener('abort', () => resolve(ended)));
    box.forward = async () => workingPort;
    const session = await openSession(box, '', { lifeSeconds: 0.2 });
    const openRoute = (clock: { begin(): unknown }) => {
      clock.begin();
      return { accept: () => undefined, close: () => undefined };
    };
    await session.connect({ baseUrl: 'u', apiKey: 'k', model: 'm', openRoute });
    expect(await session.run({ command: ['a'] })).toMatchObject({ isOutOfTime: true });
    await expect(session.run({ command: ['a'] })).rejects.toMatchObject({ code: 'time_over' });
  });

  it('is lost with its way to the model, and needs a language in the image', async () => {
    const box = new MemoryBox();
    const session = await openSession(box);
    const route = { accept: () => undefined, close: () => undefined };
    const endpoint = { baseUrl: 'u', apiKey: 'k', model: 'm', openRoute: () => route };
    await expect(session.connect(endpoint)).rejects.toThrow('has none of python3, node and perl');
    const broken = new SandboxError('failed', 'A port of a box broke off');
    let lose: (error: Error) => void = () => undefined;
    const lost = new Promise<never>((_resolve, reject) => (lose = reject));
    box.forward = async () => ({ ...workingPort, broken: lost });
    expect(await session.connect(endpoint)).toMatchObject({ baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'k' });
    box.exec = () => new Promise(() => lose(broken));
    await expect(session.run({ command: ['a'] })).rejects.toThrow(EnvironmentOutage);
    await expect(session.connect({ baseUrl: 'u', apiKey: 'k', model: 'm' })).rejects.toThrow('has no openRoute');
  });
});

describe('the tool servers of a task', () => {
  const program = path.join(import.meta.dirname, '../../test-servers/counter-stdio.mjs');
  const toml = `[agent]\nuser = "worker"\n[[environment.mcp_servers]]\nname = "notes"\ntransport = "stdio"
    command = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(program)}]`;

  it('run as the agent, and end before the verifier begins', async () => {
    const box = new MemoryBox({ 'reward.txt': '1' });
    const session = await openSession(box, toml);
    await session.begin();
    expect(box.log).toEqual(['network public', 'talk worker /app']);
    expect(session.tools.map(({ name }) => name)).toContain('mcp__notes__act');
    expect(await session.call('mcp__notes__act', { words: 'a' })).toMatchObject({ text: 'a at 1' });
    await expect(session.call('mcp__notes__fly', {})).rejects.toThrow(/no tool "mcp__notes__fly"; .*mcp__notes__act/);
    expect(await session.evaluate()).toMatchObject({ reward: 1 });
    await expect(session.call('mcp__notes__act', { words: 'b' })).rejects.toThrow('is over');
    await session.close();
  });

  it('are left to a program in the machine when it gets its model', async () => {
    const box = new MemoryBox();
    box.forward = async () => workingPort;
    const session = await openSession(box, toml);
    await session.begin();
    expect(session.toolServers).toMatchObject([{ name: 'notes', transport: 'stdio', command: process.execPath }]);
    await session.call('mcp__notes__act', { words: 'a' });
    const openRoute = () => ({ accept: () => undefined, close: () => undefined });
    await session.connect({ baseUrl: 'u', apiKey: 'k', model: 'm', openRoute });
    expect(await session.call('mcp__notes__act', { words: 'b' })).toMatchObject({ text: 'b at 1' });
    await session.close();
  });
});

describe('a verifier in the machine of the agent', () => {
  it('runs after every process of the agent has ended, and is stopped before its verdict is read', async () => {
    const box = new MemoryBox({ 'reward.txt': '0.5\n' });
    const session = await openSession(box, '[verifier]\nuser = "judge"\n[agent]\nnetwork_mode = "no-network"');
    expect(await session.evaluate()).toEqual({ reward: 0.5, isSuccess: false });
    const folders = '/logs/agent /logs/verifier';
    expect(box.log).toEqual([
      'restart',
      `exec 0 /bin/sh -c rm -rf ${folders} /tests && mkdir -p ${folders} && chmod 777 ${folders}`,
      'check /logs/agent',
      'check /logs/verifier',
      'check /tests',
      'in /: tests tests/test.sh',
      'network public',
      'exec judge test.sh',
      'stop',
      'out /logs/verifier/reward.json',
      'out /logs/verifier/reward.txt',
    ]);
    await session.close();
    await session.close();
    expect(box.log.filter((line) => line === 'remove')).toHaveLength(1);
  });

  it('gives no verdict if the folders cannot be emptied', async () => {
    const box = new MemoryBox({ 'reward.txt': '1' });
    box.left = ['reward.json'];
    await expect((await openSession(box)).evaluate()).rejects.toThrow('could not be emptied');
    const unguarded = await openSession(box, '', { guardSharedVerifier: false });
    expect(await unguarded.evaluate()).toMatchObject({ reward: 1 });
  });

  it.each<[string, Answer]>([
    ['did not end in 600 s', { status: null, isOutOfTime: true, hasReported: false }],
    ['was killed', { status: null, hasReported: false }],
    ['was killed', { status: 137, output: 'has-room\n' }],
    ['has no room left', { output: '' }],
    ['podman exec broke off', new SandboxError('failed', 'podman exec broke off')],
  ])('gives no verdict if it %s', async (message, answer) => {
    const box = new MemoryBox({ 'reward.txt': '1' });
    box.answer = (command) => (command.includes('test-stdout') ? answer : {});
    const verdict = (await openSession(box)).evaluate();
    await expect(verdict).rejects.toThrow(message);
    await expect(verdict).rejects.toThrow(EnvironmentOutage);
  });

  it.each<[string, string, (box: MemoryBox) => void]>([
    ['the machine has ended', 'ended while the agent worked', (box) => (box.isRunning = async () => false)],
    [
      'the way to the allowed hosts does not work',
      'A port broke off',
      (box) =>
        (box.forward = async () => ({
          ...workingPort,
          check: () => Promise.reject(new SandboxError('failed', 'A port broke off')),
        })),
    ],
    [
      'a command of verifier.collect runs out of time',
      'A command of verifier.collect of task o/n was ended: dump (it did not end)',
      (box) => {
        const usual = box.answer;
        box.answer = (command, options) =>
          command === 'sh -c dump' ? { status: null, isOutOfTime: true } : usual(command, options);
      },
    ],
    [
      'a command of ours is killed',
      'A command of ours in b was ended: exit code 137',
      (box) => (box.answer = (command) => (command.includes('rm -rf') ? { status: 137 } : { output: 'has-room' })),
    ],
  ])('does not begin if %s', async (_, message, fail) => {
    const box = new MemoryBox({ 'reward.txt': '0' });
    box.forward = async () => workingPort;
    fail(box);
    const toml =
      '[task]\nname = "o/n"\n[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.com"]\n[[verifier.collect]]\ncommand = "dump"';
    const session = await openSession(box, toml);
    await session.begin();
    const verdict = session.evaluate();
    await expect(verdict).rejects.toThrow(message);
    await expect(verdict).rejects.toThrow(EnvironmentOutage);
    expect(box.log).not.toContain('exec - test.sh');
  });

  it('gives no verdict if its way to the allowed hosts broke while it ran', async () => {
    const box = new MemoryBox({ 'reward.txt': '0' });
    const broken = new SandboxError('failed', 'A port broke off');
    box.forward = async () => ({ ...workingPort, check: () => Promise.reject(broken) });
    const toml = '[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.com"]';
    const session = await openSession(box, toml);
    await expect(session.evaluate()).rejects.toThrow('A port broke off');
    expect(box.log.at(-1)).toBe('exec - test.sh');
  });

  it('reports a command of verifier.collect that fails', async () => {
    const notices: string[] = [];
    const box = new MemoryBox({ 'reward.txt': '1' });
    const usual = box.answer;
    box.answer = (command, options) =>
      command === 'sh -c dump' ? { status: 1, output: 'no db\n' } : usual(command, options);
    const toml = '[task]\nname = "o/n"\n[[verifier.collect]]\ncommand = "dump"\nuser = 7';
    const session = await openSession(box, toml, { onNotice: (message) => notices.push(message) });
    expect(await session.evaluate()).toMatchObject({ reward: 1 });
    expect(box.log[0]).toBe('exec 7 sh -c dump');
    expect(notices).toEqual(['A command of verifier.collect of task o/n failed: dump (no db)']);
  });
});

describe('a verdict', () => {
  it.each<[Record<string, string>, object]>([
    [{ 'reward.txt': '1' }, { reward: 1, isSuccess: true }],
    [{ 'reward.txt': ' -0.25\n' }, { reward: -0.25, isSuccess: false }],
    [
      { 'reward.json': '0.75', 'reward.txt': '1' },
      { reward: 0.75, isSuccess: false },
    ],
    [{ 'reward.json': '{"reward": 1}' }, { reward: 1, isSuccess: true }],
    [
      { 'reward.json': '{"reward": 1, "style": 0.5}' },
      { reward: 1, isSuccess: true, rewards: { reward: 1, style: 0.5 }, parts: { reward: 1, style: 0.5 } },
    ],
    [
      { 'reward.json': '{"tests": 1, "style": 0}' },
      { reward: 0.5, isSuccess: false, rewards: { tests: 1, style: 0 }, parts: { tests: 1, style: 0 } },
    ],
  ])('is read from %j', async (files, verdict) => {
    expect(await verdictOf(files)).toEqual(verdict);
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'The verifier wrote neither reward.json nor reward.txt.'],
    [{ 'test-stdout.txt': 'x\npytest: not found\n' }, 'Its last line was "pytest: not found"'],
    [{ 'reward.txt': '' }, 'wrote "" to reward.txt'],
    [{ 'reward.txt': 'NaN' }, 'wrote "NaN"'],
    [{ 'reward.txt': '1e309' }, 'wrote "1e309"'],
    [{ 'reward.txt': '1 0' }, 'wrote "1 0"'],
    [{ 'reward.txt': '1'.repeat(5_000_000) }, 'more than 1000000 bytes'],
    [{ 'reward.json': '{}' }, 'wrote "{}" to reward.json'],
    [{ 'reward.json': '{"reward": "1"}' }, 'to reward.json'],
    [{ 'reward.json': '{"reward": 1e309}' }, 'to reward.json'],
    [{ 'reward.json': '[1]' }, 'to reward.json'],
    [{ 'reward.json': '', 'reward.txt': '1' }, 'wrote "" to reward.json'],
  ])('is an outage instead of a number if the verifier leaves %j', async (files, message) => {
    const verdict = verdictOf(files);
    await expect(verdict).rejects.toThrow(message);
    await expect(verdict).rejects.toThrow(EnvironmentOutage);
  });
});

describe('a task with several steps', () => {
  const files = {
    'steps/a/instruction.md': 'First.',
    'steps/b/instruction.md': 'Second.',
    'steps/b/workdir/setup.sh': 'true',
    'steps/b/tests/b.txt': '',
  };
  const steps = (more = '') =>
    `${more}\n[[steps]]\nname = "a"\nmin_reward = 0.5\n[[steps]]\nname = "b"\nagent.user = "u"`;

  it('is one conversation with one machine, and its reward is the mean of the steps', async () => {
    const box = new MemoryBox({ 'reward.txt': '1' });
    const session = await openSession(box, steps(), { files });
    expect(session.observation).toMatchObject({ text: 'First.', data: { step: 'a', steps: 2 } });
    const next = await session.step?.();
    expect(next).toMatchObject({ observation: { text: 'Second.' }, reward: 1, isDone: false });
    const begun = box.log.lastIndexOf('restart');
    expect(box.log.slice(begun)).toEqual([
      'restart',
      expect.stringContaining('rm -rf /logs/agent /logs/verifier /tests'),
      'check /logs/agent',
      'check /logs/verifier',
      'check /tests',
      'network public',
      'in /app: setup.sh',
      'exec u bash /app/setup.sh',
      'network public',
    ]);
    await session.call('bash', { command: 'make' });
    expect(box.log.at(-1)).toBe('exec u bash -c make');
    box.files['reward.txt'] = '0.5';
    expect(await session.step?.()).toMatchObject({ observation: { text: '' }, reward: 0.5, isDone: true });
    expect(box.log).toContain('in /: tests tests/b.txt');
    await expect(session.call('bash', { command: 'make' })).rejects.toThrow('is over');
    expect(await session.evaluate()).toEqual({ reward: 0.75, isSuccess: false });
  });

  it('can take the reward of the last step, and scores steps that the agent never began', async () => {
    const box = new MemoryBox({ 'reward.json': '{"reward": 1, "style": 0.5}' });
    const session = await openSession(box, steps('multi_step_reward_strategy = "final"'), { files });
    expect(await session.evaluate()).toMatchObject({ reward: 1, rewards: { reward: 1, style: 0.5 } });
    expect(box.log.filter((line) => line.endsWith('test.sh') && line.startsWith('exec - '))).toHaveLength(2);
  });

  it('ends after a step that does not reach its least reward', async () => {
    const box = new MemoryBox({ 'reward.txt': '0.25' });
    const session = await openSession(box, steps(), { files });
    expect(await session.step?.()).toMatchObject({ reward: 0.25, isDone: true });
    expect(await session.evaluate()).toEqual({ reward: 0.25, isSuccess: false });
  });

  it('leaves no box of a verifier if it is closed while a step is scored', async () => {
    const box = new MemoryBox({ 'reward.txt': '1' });
    const session = await openSession(box, steps(), { files });
    let go: () => void = () => undefined;
    const { restart } = box;
    box.restart = () => new Promise((resolve) => (go = resolve));
    const step = session.step?.().catch(() => undefined);
    await sleep(10);
    const closed = session.close();
    await sleep(10);
    expect(box.log).not.toContain('remove');
    box.restart = restart;
    go();
    await Promise.all([step, closed]);
    expect(box.log.at(-1)).toBe('remove');
  });

  it('has no reward if the set-up of a step fails', async () => {
    const box = new MemoryBox({ 'reward.txt': '1' });
    const usual = box.answer;
    box.answer = (command, options) =>
      command.includes('setup.sh') ? { status: 1, output: 'no room\n' } : usual(command, options);
    const session = await openSession(box, steps(), { files });
    await expect(session.evaluate()).rejects.toThrow('setup.sh of step b of task');
  });
});
