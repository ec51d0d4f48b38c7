import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentOutage } from '@agentjet/core';
import { scriptEngine } from '@agentjet/sandbox/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { openMachine, removeMachine } from '../harbor-machine.js';
import { readHarborTask } from '../read-task.js';

const root = mkdtempSync(path.join(tmpdir(), 'services-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const compose = `
volumes: { data: }
services:
  main: { volumes: ['data:/data'], environment: { A: a } }
  prepare: { image: p, volumes: ['data:/data'] }
  web:
    image: w
    command: serve
    user: www
    depends_on: { prepare: { condition: service_completed_successfully } }
`;

const hosts = '127.0.0.1\tmain prepare\n127.0.0.1\tweb\n';

/**
 * `ends` is what the engine says about a service, by the number of its box: the network is 1, prepare 2, web 3.
 * `firstHosts` are the names that are read first.
 */
async function open(ends: Readonly<Record<number, string>>, firstHosts = hosts) {
  const folder = mkdtempSync(path.join(root, 'task-'));
  mkdirSync(path.join(folder, 'environment'));
  mkdirSync(path.join(folder, 'tests'));
  const files = {
    'task.toml': '[environment]\nnetwork_mode = "no-network"',
    'instruction.md': 'Do it.',
    'environment/Dockerfile': 'FROM x',
    'environment/docker-compose.yaml': compose,
    'tests/test.sh': 'true',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  const scripted = scriptEngine(root);
  scripted.on('image', `echo '{"entrypoint":["/start"],"command":["usual"]}'; exit 0`);
  // `run` numbers the boxes, and `container inspect` answers for the number.
  scripted.on(
    'run',
    'n=$(($(ls "$home" | grep -c ^box-) + 1)); for word; do case $word in ajet-box-*) touch "$home/box-$n-$word"; break;; esac; done',
  );
  const say = (said: Readonly<Record<number, string>>): void => {
    const cases = Object.entries(said).map(([number, line]) => `*/box-${number}-*) echo "${line}";;`);
    scripted.on(
      'container',
      `for last; do :; done; case $(ls -d "$home"/box-*-$last) in ${cases.join(' ')} *) echo "running 12:00";; esac; exit 0`,
    );
  };
  say(ends);
  scripted.on('logs', 'echo "no such table" >&2');
  // Commands do not run on this machine, which has names, too.
  const commands = [
    '*"command -v bash"*) printf "/app\\nbash\\nno\\n";;',
    '*"> /etc/hosts"*) for last; do :; done; printf %s "$last" | tee "$home/names";;',
    '*"cat /etc/hosts"*) cat "$home/hosts"; mv "$home/later-hosts" "$home/hosts" 2>/dev/null;;',
  ];
  const home = path.dirname(scripted.engine.program);
  writeFileSync(path.join(home, 'hosts'), firstHosts);
  writeFileSync(path.join(home, 'later-hosts'), hosts);
  const shell = 'while [ "$1" != /bin/sh ]; do shift; done';
  scripted.on(
    'exec',
    `words="$*"; ${shell}; echo "$4 begins 1" >&2; case "$words" in ${commands.join(' ')} esac; echo "$4 ended"; echo "$4 ended 0" >&2; exit 0`,
  );
  const task = await readHarborTask(folder);
  const opened = openMachine(scripted.engine, task.machine, {
    task,
    episodeId: 'e',
    networks: ['none'],
    lifeSeconds: 60,
    signal: new AbortController().signal,
  });
  const calls = () =>
    scripted
      .calls()
      .filter((call) => /^(run|rm|volume|network) /.test(call))
      .map((call) => call.replace(/ --label \S+=(\{.*?\}|\S*)/g, '').replace(/ajet-(box|volume)-[0-9a-f-]+/g, '$1'));
  const readNames = () => readFileSync(path.join(home, 'names'), 'utf8');
  return { opened, calls, say, readNames };
}

describe.skipIf(process.platform === 'win32')('the machines next to that of the agent', () => {
  it('share one network and volumes, begin in order, and are removed after the machine of the agent', async () => {
    const { opened, calls } = await open({ 2: 'exited 0' });
    const machine = await opened;
    await machine.services?.requireIntact();
    await removeMachine(machine);
    const names = ['main', 'prepare', 'web'].map((name) => `--add-host ${name}:127.0.0.1`).join(' ');
    const common = 'run -d --name box --pull never';
    expect(calls().map((call) => call.replace(/ -c life=.* exit \$s program/, ' PROGRAM'))).toEqual([
      'volume create volume',
      expect.stringMatching(new RegExp(`^${common} --network podman ${names} .* sh -c exec sleep 60$`)),
      'network disconnect podman box',
      `${common} --network container:box --pids-limit 4096 --volume volume:/data --entrypoint /bin/sh p PROGRAM 60 /start usual`,
      `${common} --network container:box --pids-limit 4096 --user www --entrypoint /bin/sh w PROGRAM 60 /start serve`,
      expect.stringMatching(
        /^run .* --network container:box .* --volume volume:\/data --env A localhost\S+ sh -c exec sleep 60$/,
      ),
      ...Array.from({ length: 4 }, () => 'rm --force --time 0 --volumes box'),
      'volume rm --force volume',
    ]);
  });

  it.each([
    ['The service prepare ended with status 1: no such table (task', { 2: 'exited 1' }],
    ['The service web ended with status 120: no such table (task', { 2: 'exited 0', 3: 'exited 120' }],
    ['The service web was ended by the engine', { 2: 'exited 0', 3: 'exited 137' }],
    ['The service web was ended by the engine', { 2: 'exited 0', 3: 'exited -1' }],
    [' is in the state "created"', { 2: 'created 0' }],
  ])('are an outage if one fails before the agent begins: %s', async (message, ends) => {
    const { opened, calls } = await open(ends);
    const failure = await opened.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(EnvironmentOutage);
    expect(String(failure)).toContain(message);
    const count = (verb: string): number => calls().filter((call) => call.startsWith(verb)).length;
    expect(count('rm ')).toBe(count('run '));
    expect(calls().at(-1)).toBe('volume rm --force volume');
  });

  it('begin after the engine has taken those that they wait for off the network', async () => {
    const { opened, calls, say } = await open({ 2: 'stopped 0' });
    const numRun = () => calls().filter((call) => call.startsWith('run ')).length;
    await expect.poll(numRun).toBe(2);
    await sleep(400);
    expect(numRun()).toBe(2);
    say({ 2: 'exited 0' });
    await opened;
    expect(numRun()).toBe(4);
  });

  it('get their names again that an agent may have changed', async () => {
    const { opened, readNames } = await open({ 2: 'exited 0' });
    await (await opened).services?.restoreNames();
    expect(readNames()).toBe(hosts);
  });

  it.each(['', '127.0.0.1\tmain prepare\n127.0.0.1\tw', '127.0.0.1\tmain prepare\n127.0.0.1\tweb'])(
    'are not forgotten because the engine writes their names again at that moment: %j',
    async (firstHosts) => {
      const { opened, readNames } = await open({ 2: 'exited 0' }, firstHosts);
      await (await opened).services?.restoreNames();
      expect(readNames()).toBe(hosts);
    },
  );

  it.each([
    ['The service web was ended by the engine', { 3: 'running 12:00' }, { 3: 'exited 137' }],
    ['The network of the machines has ended', {}, { 1: 'running 13:00' }],
  ])('are an outage if the engine ends one while the agent works: %s', async (message, before, after) => {
    const { opened, say } = await open({ ...before, 2: 'exited 0' });
    const { services } = await opened;
    say({ ...after, 2: 'exited 0' });
    await expect(services?.requireIntact()).rejects.toThrow(message);
    say({ 2: 'exited 0', 3: 'exited 1' }); // the program itself ended
    await services?.requireIntact();
  });
});
