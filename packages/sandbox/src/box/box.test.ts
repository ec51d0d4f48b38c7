import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describeSelf, readBootId } from '@agentjet/core/processes';
import { afterAll, describe, expect, it } from 'vitest';
import { scriptEngine } from '../testing/scripted-engine.js';
import { openBox, prepareImage, removeLeftBoxes } from './box-host.js';
import { findBoxEngine } from './engine.js';
import { cleanArchive, listArchive, packFile, packFolder, readOnlyFile } from './tar.js';
import { findWorkingEngine } from './working-engine.js';

const folder = mkdtempSync(path.join(tmpdir(), 'boxes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = { image: 'i', networks: ['none'], lifeSeconds: 60 } as const;
const limits = { seconds: 10, outputCharacters: 1000 };
const shell = (script: string) => ['sh', '-c', script];
/** Lets the arguments of `exec` begin with the shell that runs in the box. */
const untilShell = 'while [ "$1" != /bin/sh ]; do shift; done';

describe.skipIf(process.platform === 'win32')('a box', () => {
  it('starts with its limits and labels, ends by itself, and hides the values of variables', async () => {
    const { engine, calls } = scriptEngine(folder);
    const box = await openBox(engine, {
      ...options,
      cpus: 1.5,
      memoryMegabytes: 64,
      env: { KEY: 'secret', NODE_ENV: 'secret', XDG_DATA_HOME: '/data', PATH: '/opt' },
      labels: { 'org.agentjet.task': 't' },
    });
    const [started = ''] = calls();
    for (const part of [
      '--network none',
      '--cpus 1.5',
      '--memory 64m --memory-swap 64m',
      '--env KEY --env NODE_ENV --env XDG_DATA_HOME=/data --env PATH=/opt',
      'exec sleep 60',
      '--label org.agentjet.task=t',
      `"pid":${process.pid}`,
    ])
      expect(started).toContain(part);
    expect(started).not.toContain('secret');
    await box.remove();
    await box.remove();
    expect(calls().filter((call) => call.startsWith('rm '))).toEqual([`rm --force --time 0 --volumes ${box.name}`]);
  });

  it('is removed again if it cannot be started', async () => {
    const { engine, calls, on } = scriptEngine(folder);
    on('run', 'echo "Error: no space left on device" >&2; exit 125');
    await expect(openBox(engine, options)).rejects.toThrow('podman run failed: Error: no space left on device');
    expect(calls().at(-1)).toMatch(/^rm --force/);
  });

  it('returns the output and the status of a command, without the middle of a long output', async () => {
    const box = await openBox(scriptEngine(folder).engine, options);
    const said = shell('echo out; echo err >&2; cat; echo "$A"; pwd; exit 3');
    const result = await box.exec(said, { ...limits, stdin: 'in\n', env: { A: 'b c' }, cwd: '/' });
    expect(result).toEqual({ status: 3, output: 'out\nerr\nin\nb c\n/\n', isOutOfTime: false, hasReported: true });
    const { output } = await box.exec(shell('seq 1 2000'), limits);
    expect(output).toMatch(/^1\n2\n[\d\n]*\[\d+ characters are left out\][\d\n]*1999\n2000\n$/);
  });

  it('talks to a command until it ends or is closed', async () => {
    const { engine, calls } = scriptEngine(folder);
    const box = await openBox(engine, options);
    const talk = box.talk(shell('echo err >&2; while read -r a; do echo "$A $a"; done; exit 4'), {
      user: 'worker',
      env: { A: 'said' },
      cwd: '/',
    });
    talk.stdin.write('one\n');
    expect(String((await talk.stdout.take(1).toArray())[0])).toBe('said one\n');
    expect(calls().at(-1)).toMatch(/^exec -i --user worker --workdir \/ --env A ajet-box-/);
    const other = box.talk(shell('echo why >&2; exit 4'), {});
    expect(await other.ended).toBe('why');
    await other.close();
    const sleeping = box.talk(['sleep', '60'], {});
    await new Promise((resolve) => setTimeout(resolve, 200));
    await sleeping.close();
    expect(calls().at(-1)).toMatch(/^exec --user 0 ajet-box-\S+ \/bin\/sh -c kill -9 -\d+$/);
    expect(await box.talk(['no-such-program'], {}).ended).toBe('no-such-program: not found');
    await talk.close();
  });

  it('does not wait for a program that the command leaves running', async () => {
    const box = await openBox(scriptEngine(folder).engine, options);
    expect(await box.exec(shell('sleep 0.5 & echo on'), limits)).toMatchObject({ status: 0, output: 'on\n' });
  });

  it('ends a command that takes too long, and says so', async () => {
    const { engine, calls } = scriptEngine(folder);
    const box = await openBox(engine, options);
    expect(await box.exec(shell('echo first; sleep 1'), { ...limits, seconds: 0.2 })).toMatchObject({
      status: null,
      output: 'first\n',
      isOutOfTime: true,
    });
    expect(calls().at(-2)).toMatch(/^exec --user 0 ajet-box-\S+ \/bin\/sh -c kill -9 -\d+$/);
  });

  it('ends a command when its caller says that its time is over, and keeps the output so far', async () => {
    const { engine, calls } = scriptEngine(folder);
    const box = await openBox(engine, options);
    const over = new AbortController();
    const running = box.exec(shell('echo first; sleep 5'), { ...limits, seconds: null, limit: over.signal });
    setTimeout(() => over.abort(), 300);
    expect(await running).toMatchObject({ status: null, output: 'first\n', isOutOfTime: true });
    expect(calls().at(-2)).toMatch(/kill -9 -\d+$/);
  });

  it('distinguishes a command that killed its shell from an engine that broke off', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, options);
    const suicide = shell('kill -9 $PPID; sleep 0.1');
    on('exec', 'case "$*" in *PPID*) (while [ "$1" != /bin/sh ]; do shift; done; "$@"); exit 137;; esac');
    expect(await box.exec(suicide, limits)).toMatchObject({ status: null, hasReported: false });
    on('exec', 'kill -9 $$');
    await expect(box.exec(shell('true'), limits)).rejects.toThrow(
      'podman exec broke off: its client ended with SIGKILL',
    );
    on('exec', 'echo "Error: cannot connect to the engine" >&2; exit 125');
    await expect(box.exec(shell('true'), limits)).rejects.toThrow('cannot connect to the engine');
    on('exec', `${untilShell}; echo "$4 begins 1" >&2; echo "Error: the stream was closed" >&2; exit 255`);
    await expect(box.exec(shell('true'), limits)).rejects.toThrow('exec broke off: Error: the stream was closed');
  });

  it('is lost if the output of a command is, which a silent command is not', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, options);
    expect(await box.exec(shell('true'), limits)).toMatchObject({ status: 0, output: '' });
    expect(await box.exec(shell('printf "no line"'), limits)).toMatchObject({ output: 'no line' });
    for (const lost of ['> /dev/null', '| head -c 700']) {
      on('exec', `${untilShell}; "$@" ${lost}; exit 0`);
      await expect(box.exec(shell('seq 1 1000'), limits)).rejects.toThrow(
        /podman exec (lost the end of the output of a command|broke off)/,
      );
    }
  });

  it('is lost if it has ended in the middle of a command', async () => {
    const { engine, on } = scriptEngine(folder);
    const box = await openBox(engine, options);
    on('exec', 'touch "$home/gone"; (while [ "$1" != /bin/sh ]; do shift; done; "$@"); exit 137');
    await expect(box.exec(shell('kill -9 $PPID; sleep 0.1'), limits)).rejects.toThrow(
      'ended while a command was running',
    );
  });

  it('distinguishes a missing file from a failure to copy', async () => {
    const { engine, root, on } = scriptEngine(folder);
    writeFileSync(path.join(root, 'f'), 'text');
    const box = await openBox(engine, options);
    const read = () => box.copyOut('/f', (archive) => readOnlyFile(archive, 100));
    expect(String(await read())).toBe('text');
    expect(await box.copyOut('/g', (archive) => readOnlyFile(archive, 100))).toBe(null);
    on('cp', 'tar -C "$home/root" -c f | head -c 700; echo "Error: reset by peer" >&2; exit 125');
    await expect(read()).rejects.toThrow('cannot copy /f out of a box: Error: reset by peer');
    on('cp', 'tar -C "$home/root" -c f | head -c 512; exit 0');
    await expect(read()).rejects.toThrow('cannot copy /f out of a box: The archive broke off.');
    on('cp', 'exit 0');
    await expect(read()).rejects.toThrow('cannot copy /f out of a box: no answer');
    const say = (why: string): void =>
      on('cp', `echo 'Error: "/f" could not be found on container b: ${why}' >&2; exit 125`);
    say('mounting storage for container b: no such file or directory');
    await expect(read()).rejects.toThrow('cannot copy /f out of a box');
    say('stat /merged/f: not a directory');
    expect(await read()).toBe(null);
    on('cp', 'touch "$home/gone"');
    await expect(read()).rejects.toThrow('podman cannot copy /f out of a box');
  });

  it('builds an image once, for all who ask for it at the same time and later', async () => {
    const { engine, calls, on } = scriptEngine(folder);
    const source = { kind: 'built', context: '/task', digest: 'abc' } as const;
    on('build', 'sleep 0.1');
    const names = await Promise.all([1, 2, 3].map(() => prepareImage(engine, source, 5)));
    names.push(await prepareImage(engine, source, 5));
    expect(new Set(names)).toEqual(new Set(['localhost/agentjet/box:abc']));
    expect(calls().filter((call) => call.startsWith('build '))).toHaveLength(1);
  });

  it('fails to build with the last words of the engine, and in time', async () => {
    const { engine, on } = scriptEngine(folder);
    on('build', 'echo step 1; echo "make: *** no rule" >&2; exit 2');
    const build = (seconds: number) => prepareImage(engine, { kind: 'built', context: '/t', digest: 'd' }, seconds);
    await expect(build(5)).rejects.toThrow('podman build failed: make: *** no rule');
    on('build', 'exec sleep 5');
    await expect(build(0.1)).rejects.toThrow('podman build did not end in 0.1 s');
  });
});

it.skipIf(process.platform === 'win32')(
  'removes the boxes and volumes of dead processes of this machine only, a shared network last',
  async () => {
    const { engine, calls, on } = scriptEngine(folder);
    const self = { ...describeSelf(), bootId: readBootId() };
    const owners = {
      dead: { ...self, pid: 2 ** 22 + 1 },
      reused: { ...self, pid: process.ppid, started: '1' },
      rebooted: { ...self, bootId: 'an earlier one' },
      own: self,
      alive: { ...self, pid: process.ppid, started: undefined },
      other: { ...self, host: 'elsewhere', pid: 2 ** 22 + 1 },
      contained: { ...self, space: 'pid:[1]', pid: 2 ** 22 + 1 },
    };
    const lines = Object.entries(owners).map(([id, owner]) => `${id}  ${JSON.stringify(owner)}`);
    const volumes = Object.entries(owners).map(
      ([id, owner]) => `volume-of-${id} ${Buffer.from(JSON.stringify(owner)).toString('base64url')}`,
    );
    const joined = `joined dead ${JSON.stringify(owners.dead)}`;
    on('ps', `cat <<'END'\n${[...lines, joined, 'strange  not json', 'bare  '].join('\n')}\nEND`);
    on('volume', `[ $1 = rm ] || cat <<'END'\n${volumes.join('\n')}\nEND`);
    expect(await removeLeftBoxes(engine)).toBe(4);
    const removed = calls().flatMap((call) => /^(?:volume )?rm .* (\S+)$/.exec(call)?.[1] ?? []);
    const gone = ['dead', 'reused', 'rebooted'];
    expect(removed).toEqual(
      process.platform === 'linux' ? ['joined', ...gone, ...gone.map((id) => `volume-of-${id}`)] : removed,
    );
  },
);

it.skipIf(process.platform === 'win32')(
  'removes a box that began to share the network of another one while they were removed',
  async () => {
    const { engine, calls, on } = scriptEngine(folder);
    const owner = JSON.stringify({ ...describeSelf(), bootId: readBootId(), pid: 2 ** 22 + 1 });
    on('ps', `echo 'first  ${owner}'; [ ! -e "$home/began" ] || echo 'late first ${owner}'`);
    on(
      'rm',
      `for last; do :; done
if [ "$last" = first ] && [ ! -e "$home/began" ]; then
  touch "$home/began"; echo 'Error: container first has dependent containers which must be removed before it' >&2; exit 125
fi`,
    );
    expect(await removeLeftBoxes(engine)).toBe(2);
    expect(calls().flatMap((call) => /^rm .* (\S+)$/.exec(call)?.[1] ?? [])).toEqual(['first', 'late', 'first']);
  },
);

it.skipIf(process.platform === 'win32')('finds an engine that answers, or says what is missing', () => {
  const { engine, on } = scriptEngine(folder);
  const place = path.dirname(engine.program);
  expect(findBoxEngine(['docker', 'podman'], [place])).toEqual(engine);
  on('info', 'echo "cannot connect" >&2; exit 125');
  expect(findBoxEngine(['docker', 'podman'], [place])).toBe(
    'docker is not installed; podman does not work: cannot connect',
  );
});

describe.skipIf(process.platform === 'win32')('an engine that works', () => {
  const rlimits = 'error setting rlimit type 7: operation not permitted: OCI permission denied';

  it('has started a container once', async () => {
    const { engine, calls } = scriptEngine(folder);
    const place = path.dirname(engine.program);
    const found = await Promise.all([1, 2].map(() => findWorkingEngine(['podman'], [place])));
    expect(found).toEqual([engine, engine]);
    const verbs = calls().map((call) => call.split(' ')[0]);
    expect(verbs.sort()).toEqual(['image', 'import', 'info', 'info', 'run']);
    expect(calls().at(-1)).toMatch(/--network none --pids-limit 4096 \S+ \/start$/);
  });

  it('is refused with its own words and the repair if it starts nothing, and asked again later', async () => {
    const { engine, on } = scriptEngine(folder);
    const place = path.dirname(engine.program);
    on('run', `echo "a warning\nError: ${rlimits}" >&2; exit 126`);
    const problem = await findWorkingEngine(['podman', 'docker'], [place]);
    expect(problem).toContain(`podman cannot start a container: Error: ${rlimits}.`);
    expect(problem).toContain('default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]');
    expect(problem).toContain('CONTAINERS_CONF');
    expect(problem).toContain('docker is not installed');
    on('run', 'echo "something else" >&2; exit 125');
    expect(await findWorkingEngine(['podman'], [place])).toContain('something else. `podman run --rm localhost/');
    on('run', 'echo "exec /start: exec format error" >&2; exit 1');
    expect(await findWorkingEngine(['podman'], [place])).toEqual(engine);
  });
});

describe.skipIf(process.platform === 'win32')('an archive', () => {
  const from = path.join(folder, 'from');
  mkdirSync(path.join(from, 'sub'), { recursive: true });
  writeFileSync(path.join(from, 'bytes.bin'), Buffer.from([0, 255, 13, 10]));
  writeFileSync(path.join(from, 'empty'), '');
  writeFileSync(path.join(from, 'sub', 'left.log'), 'x');
  symlinkSync('bytes.bin', path.join(from, 'inside'));
  symlinkSync('/etc/passwd', path.join(from, 'outside'));
  symlinkSync('../../x', path.join(from, 'sub', 'above'));
  symlinkSync('..', path.join(from, 'sub', 'up'));
  // `up` is the folder itself, so this one leaves it.
  symlinkSync('up/../secret', path.join(from, 'sub', 'around'));

  it('has the files of a folder below a prefix, without those that are left out', async () => {
    const packed = packFolder(from, 'tests', { leaves: (relative) => relative.endsWith('.log') });
    expect((await listArchive(packed)).map(({ name, type }) => `${name} ${type}`)).toEqual([
      'tests directory',
      'tests/bytes.bin file',
      'tests/empty file',
      'tests/inside symlink',
      'tests/outside symlink',
      'tests/sub directory',
      'tests/sub/above symlink',
      'tests/sub/around symlink',
      'tests/sub/up symlink',
    ]);
  });

  it('reaches another box without links that leave it', async () => {
    const { stream, refused } = cleanArchive(packFolder(from, 'from'), { target: 'app/out', mostBytes: 100 });
    expect((await listArchive(stream)).map(({ name }) => name)).toEqual([
      'app/out',
      'app/out/bytes.bin',
      'app/out/empty',
      'app/out/inside',
      'app/out/sub',
      'app/out/sub/left.log',
      'app/out/sub/up',
    ]);
    expect(refused).toEqual(['from/outside', 'from/sub/above', 'from/sub/around']);
    const one = cleanArchive(packFile('f', 'text', 0o4755), { target: 'a/b', mostBytes: 100 });
    expect(await readOnlyFile(one.stream, 100).then(String)).toBe('text');
  });

  it('is not read if it is too large', async () => {
    await expect(readOnlyFile(packFile('f', 'x'.repeat(101)), 100)).rejects.toThrow('more than 100 bytes');
    const { stream } = cleanArchive(packFile('f', 'x'.repeat(101)), { target: 'f', mostBytes: 100 });
    await expect(listArchive(stream)).rejects.toThrow('more than 100 bytes');
  });
});
