import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TaskError, type Task } from '@agentjet/core';
import { afterAll, expect, it } from 'vitest';
import { excludedBy } from './excluded-by.js';
import { readHarborTask, withoutCanary } from './read-task.js';
import { createHarborReader } from './reader.js';
import { resolveToolServer } from './read-tool-servers.js';
import { ignoredIn } from './task-files.js';
import { resolveVariables } from './variables.js';

const root = mkdtempSync(path.join(tmpdir(), 'harbor-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

/** Writes a task. `more` has further files, and null removes one. */
function writeTask(toml = '', more: Readonly<Record<string, string | null>> = {}, parent = root): string {
  const folder = path.join(parent, `task-${++count}`);
  const files = {
    'task.toml': toml,
    'instruction.md': 'Do it.\n',
    'environment/Dockerfile': 'FROM x\n',
    'tests/test.sh': 'true\n',
    ...more,
  };
  for (const [name, text] of Object.entries(files)) {
    if (text === null) continue;
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

const compose = { 'environment/docker-compose.yaml': 'services: { db: { image: d } }' };

it('reads what is taken from further machines, and reaches their tool servers without a network', async () => {
  const folder = writeTask(
    `artifacts = [{ source = "/db/rows", service = "db" }]
     [[verifier.collect]]
     command = "dump"
     service = "db"
     [environment]
     network_mode = "no-network"
     [[environment.mcp_servers]]
     name = "m"
     url = "http://db:80"`,
    compose,
  );
  const { machine, steps, toolServers } = await readHarborTask(folder);
  expect(machine).toMatchObject({ build: { folder: path.join(folder, 'environment') }, copiesFiles: false });
  expect(machine.compose?.names).toEqual(['main', 'db']);
  expect(steps[0]).toMatchObject({
    artifacts: [{ source: '/db/rows', service: 'db' }],
    verifier: { collect: [{ command: 'dump', service: 'db' }], machine: null },
  });
  expect(toolServers).toHaveLength(1);
});

it('gives new machines to a separate verifier only if it has no image', async () => {
  const separate = '[verifier]\nenvironment_mode = "separate"';
  const copied = await readHarborTask(writeTask(separate, compose));
  expect(copied.steps[0].verifier.machine?.compose?.names).toEqual(['main', 'db']);
  const own = await readHarborTask(writeTask(separate, { ...compose, 'tests/Dockerfile': 'FROM x' }));
  expect(own.steps[0].verifier.machine?.compose).toBe(null);
});

it('reads every key that it honours', async () => {
  const folder = writeTask(
    `schema_version = "1.4"
     artifacts = ["/app/out", { source = "data", exclude = ["*.log"] }]
     [task]
     name = "org/name"
     [metadata]
     level = 3
     [agent]
     timeout_sec = 90.5
     user = 1000
     network_mode = "no-network"
     [verifier]
     timeout_sec = 7
     user = "judge"
     env = { A = "b" }
     [[verifier.collect]]
     command = "dump"
     [environment]
     cpus = 0.5
     memory_mb = 300
     storage_mb = 1000
     workdir = "/w"
     skills_dir = "/skills"
     unknown_key = 1
     [environment.env]
     C = "d"
     [environment.healthcheck]
     command = "ok"
     [solution.env]
     S = "t"`,
    { 'instruction.md': '<!-- benchmark CANARY 1 -->\n# canary 2\n\nDo it.\n' },
  );
  expect(await readHarborTask(folder)).toMatchObject({
    name: 'org/name',
    metadata: { level: 3 },
    skillsFolder: '/skills',
    machine: {
      build: { folder: path.join(folder, 'environment') },
      image: null,
      copiesFiles: false,
      buildSeconds: 600,
      cpus: 0.5,
      memoryMegabytes: 300,
      storageMegabytes: 1000,
      network: 'public',
      env: { C: 'd' },
      workdir: '/w',
      healthcheck: { command: 'ok', interval_sec: 5, timeout_sec: 30, retries: 3 },
    },
    steps: [
      {
        name: null,
        instruction: 'Do it.\n',
        agent: { seconds: 90.5, user: 1000, network: 'none' },
        verifier: {
          seconds: 7,
          user: 'judge',
          env: { A: 'b' },
          network: 'public',
          collect: [{ command: 'dump', service: 'main', timeout_sec: 60 }],
          machine: null,
        },
        artifacts: [
          { source: '/app/out', exclude: [] },
          { source: 'data', exclude: ['*.log'] },
        ],
      },
    ],
    solutionEnv: { S: 't' },
  });
});

const server = (lines: string): string => `[[environment.mcp_servers]]\nname = "m"\n${lines}`;

it('reads the tool servers of a task, and fills in their headers later', async () => {
  process.env['AJET_TEST_TOKEN'] = 'secret';
  const servers = [
    'transport = "stdio"\ncommand = "old"',
    'url = "http://127.0.0.1:8000/sse"',
    'transport = "stdio"\ncommand = "c"\nargs = ["a"]',
  ].map(server);
  const web = `[[environment.mcp_servers]]\nname = "w"\ntransport = "http"\nurl = "https://w.org/mcp"
    headers = { Authorization = "Bearer \${AJET_TEST_TOKEN}", X-Version = "v\${AJET_ABSENT:-2}" }`;
  const { toolServers } = await readHarborTask(writeTask(`${servers.join('\n')}\n${web}`));
  expect(toolServers).toEqual([
    { name: 'm', transport: 'stdio', command: 'c', args: ['a'] },
    {
      name: 'w',
      transport: 'streamable-http',
      url: 'https://w.org/mcp',
      headers: { Authorization: 'Bearer ${AJET_TEST_TOKEN}', 'X-Version': 'v${AJET_ABSENT:-2}' },
    },
  ]);
  expect(toolServers.map(resolveToolServer)[1]).toMatchObject({
    headers: { Authorization: 'Bearer secret', 'X-Version': 'v2' },
  });
});

it('reads the keys of older versions', async () => {
  const toml = 'version = "1.0"\n[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = false';
  expect(await readHarborTask(writeTask(toml))).toMatchObject({
    machine: { memoryMegabytes: 2048, storageMegabytes: 512, network: 'none' },
    steps: [{ agent: { seconds: null, network: 'none' }, verifier: { seconds: 600, network: 'none' } }],
  });
});

it('finds the machine of a separate verifier', async () => {
  const separate = '[verifier]\nenvironment_mode = "separate"\n';
  const environment = '[environment]\ncpus = 2\n';
  const copy = await readHarborTask(writeTask(separate + environment));
  expect(copy.steps[0].verifier).toMatchObject({ machine: copy.machine, hasTests: false });
  const own = writeTask(separate + environment, { 'tests/Dockerfile': 'FROM y\n', 'tests/test.sh': null });
  expect((await readHarborTask(own)).steps[0].verifier).toMatchObject({
    machine: { build: { folder: path.join(own, 'tests') }, cpus: 2, copiesFiles: false },
    hasTests: true,
  });
  const named = writeTask('[verifier.environment]\ndocker_image = "v"\ncpus = 1\nnetwork_mode = "no-network"');
  expect((await readHarborTask(named)).steps[0].verifier).toMatchObject({
    machine: { image: 'v', build: null, cpus: 1 },
    hasTests: true,
    network: 'none',
  });
  const limits = writeTask('[environment]\ndocker_image = "agent"\n[verifier.environment]\nmemory_mb = 64');
  expect((await readHarborTask(limits)).steps[0].verifier).toMatchObject({
    machine: { image: 'agent', memoryMegabytes: 64 },
    hasTests: false,
  });
});

it('reads steps, and what each of them inherits from its task', async () => {
  const folder = writeTask(
    `multi_step_reward_strategy = "final"
     artifacts = ["/a"]
     [agent]
     timeout_sec = 9
     user = "worker"
     network_mode = "allowlist"
     allowed_hosts = ["PyPI.org", "*.example.com", "10.0.0.0/8"]
     [verifier]
     timeout_sec = 5
     env = { A = "task", B = "task" }
     [[steps]]
     name = "first"
     min_reward = 0.5
     [steps.agent]
     timeout_sec = 3
     network_mode = "no-network"
     [[steps]]
     name = "second"
     min_reward = { style = 1 }
     artifacts = ["/b"]
     [steps.verifier]
     timeout_sec = 7
     environment_mode = "separate"
     env = { B = "step" }`,
    {
      'instruction.md': null,
      'steps/first/instruction.md': '# canary\nFirst.',
      'steps/first/workdir/setup.sh': 'true',
      'steps/second/instruction.md': 'Second.',
      'steps/second/tests/test.sh': 'true',
      'steps/second/solution/solve.sh': 'true',
    },
  );
  const { steps, joining } = await readHarborTask(folder);
  expect(joining).toBe('final');
  expect(steps).toMatchObject([
    {
      name: 'first',
      instruction: 'First.',
      files: 'steps/first/workdir',
      hasSetup: true,
      agent: { seconds: 3, user: 'worker', network: 'none' },
      verifier: { seconds: 600, env: { A: 'task', B: 'task' }, machine: null, tests: ['tests'] },
      solution: 'solution',
      leastRewards: { reward: 0.5 },
    },
    {
      name: 'second',
      files: null,
      hasSetup: false,
      agent: { seconds: 9, network: ['pypi.org', '*.example.com', '10.0.0.0/8'] },
      verifier: { seconds: 7, env: { A: 'task', B: 'step' }, tests: ['tests', 'steps/second/tests'] },
      artifacts: [{ source: '/a' }, { source: '/b' }],
      solution: 'steps/second/solution',
      leastRewards: { style: 1 },
    },
  ]);
  expect(steps[1]?.verifier.machine).not.toBeNull();
});

it('copies loose files only if no Dockerfile does', async () => {
  const image = '[environment]\ndocker_image = "i"';
  const read = async (more: Record<string, string | null>) => (await readHarborTask(writeTask(image, more))).machine;
  expect(await read({})).toMatchObject({ image: 'i', build: null, copiesFiles: false });
  expect(await read({ 'environment/Dockerfile': null, 'environment/a': '' })).toMatchObject({ copiesFiles: true });
});

it.each<[string, string, Record<string, string | null>?]>([
  ['[[steps]] has the name "a" twice', '[[steps]]\nname = "a"\n[[steps]]\nname = "A"'],
  ['steps/a/instruction.md cannot be read', '[[steps]]\nname = "a"'],
  ['steps.0.name is "../x"', '[[steps]]\nname = "../x"'],
  ['trajectory.json', '', { 'trajectory.json': '{}' }],
  ['environment/docker-compose.yml is not read', '', { 'environment/docker-compose.yml': '' }],
  [
    'environment/docker-compose.yaml: services.a.ports is a key',
    '',
    { 'environment/docker-compose.yaml': 'services: { a: { image: x, ports: [80] } }' },
  ],
  [
    'tests/docker-compose.yaml describes several machines',
    '[verifier]\nenvironment_mode = "separate"',
    { 'tests/docker-compose.yaml': '' },
  ],
  ['environment.os is "Windows"', '[environment]\nos = "Windows"'],
  ['environment.gpus is 1', '[environment]\ngpus = 1'],
  ['environment.gpu_types is H100', '[environment]\ngpu_types = ["H100"]'],
  ['environment.tpu is set', '[environment]\ntpu = { type = "v4", topology = "2x2" }'],
  ['mcp_servers "m" has the transport "sse" and the url null', server('')],
  ['mcp_servers "m" has the transport "stdio" and no command', server('transport = "stdio"')],
  ['has the transport "streamable-http" and the url "m:1"', server('transport = "http"\nurl = "m:1"')],
  ['environment.mcp_servers.0.transport is "tcp"', server('transport = "tcp"')],
  ['has headers, which only', server('transport = "stdio"\ncommand = "c"\nheaders = { A = "b" }')],
  [
    'has the header Authorization with a credential',
    server('url = "http://m"\nheaders = { Authorization = "Bearer x" }'),
  ],
  ['has the header X-A with a credential', server('url = "http://m"\nheaders = { X-A = "${MY_KEY:-x}" }')],
  ['has the header X-A with a variable that is no', server('url = "http://m"\nheaders = { X-A = "${1}" }')],
  ['needs the environment variable AJET_ABSENT for', server('url = "http://m"\nheaders = { X = "a ${AJET_ABSENT}" }')],
  ['listens at m, which the agent', `[agent]\nnetwork_mode = "no-network"\n${server('url = "http://m"')}`],
  [
    'verifier.environment.mcp_servers has 1 servers, but only agents have tools',
    '[[verifier.environment.mcp_servers]]\nname = "m"\nurl = "http://m"',
  ],
  ['allowed_hosts has "http://a.b"', '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["http://a.b"]'],
  ['allowed_hosts names a.b, but network_mode', '[agent]\nallowed_hosts = ["a.b"]'],
  ['verifier.environment.gpus is 2', '[verifier.environment]\ngpus = 2'],
  [
    'verifier.environment_mode is "shared"',
    '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1',
  ],
  ['verifier.collect names the service "db"', '[[verifier.collect]]\ncommand = "x"\nservice = "db"'],
  ['of the service db. Give a whole path', 'artifacts = [{ source = "x", service = "db" }]', compose],
  ['artifacts has /x of main and of db', 'artifacts = ["/x", { source = "/x", service = "db" }]', compose],
  ['artifacts names the service "db"', 'artifacts = [{ source = "/x", service = "db" }]'],
  ['artifacts has the source "/a/../b"', 'artifacts = ["/a/../b"]'],
  ['needs the environment variable AJET_NOT_SET', '[verifier.env]\nKEY = "${AJET_NOT_SET}"'],
  ['it has no tests/test.sh', '', { 'tests/test.sh': null, 'tests/a': '' }],
  ['leaves out tests/test.sh', '', { '.harborignore': '*.sh\n' }],
  ['neither environment/Dockerfile nor docker_image', '', { 'environment/Dockerfile': null }],
  ['verifier.timeout_sec is -1', '[verifier]\ntimeout_sec = -1'],
  ['environment.memory is "much"', '[environment]\nmemory = "much"'],
  ['is not TOML', 'a = '],
  ['instruction.md cannot be read', '', { 'instruction.md': null }],
])('refuses a task and says: %s', async (message, toml, files) => {
  const thrown = await readHarborTask(writeTask(toml, files)).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(TaskError);
  expect(String(thrown)).toContain(message);
});

it('refuses links that leave the task', async () => {
  const folder = writeTask();
  symlinkSync('/etc/passwd', path.join(folder, 'tests', 'secret'));
  await expect(readHarborTask(folder)).rejects.toThrow('The symlink tests/secret of the task');
});

it('gives another digest if any file differs', async () => {
  const folder = writeTask('', { 'solution/solve.sh': 'a' });
  const before = await readHarborTask(folder);
  expect((await readHarborTask(folder)).digest).toBe(before.digest);
  writeFileSync(path.join(folder, 'solution', 'solve.sh'), 'b');
  const after = await readHarborTask(folder);
  expect(after.digest).not.toBe(before.digest);
  expect(after.machine.build?.digest).toBe(before.machine.build?.digest);
});

it('fills in variables of this process', () => {
  process.env['AJET_TEST_SET'] = 'here';
  expect(resolveVariables({ a: '${AJET_TEST_SET}', b: '${AJET_TEST_UNSET:-else}', c: 'x ${AJET_TEST_SET}' })).toEqual({
    a: 'here',
    b: 'else',
    c: 'x ${AJET_TEST_SET}',
  });
  delete process.env['AJET_TEST_SET'];
  expect(() => resolveVariables({ a: '${AJET_TEST_SET}' })).toThrow('AJET_TEST_SET, which is not set');
});

it('removes marks at the top of an instruction only', () => {
  expect(withoutCanary('# Canary x\n\n# Title\n# canary\n')).toBe('# Title\n# canary\n');
});

it('leaves out what .harborignore names, in the folder and below', () => {
  const folder = writeTask('', {
    '.harborignore': '*.tmp\n',
    'tests/.harborignore': 'data/\n!keep.tmp\n',
    'tests/sub/.harborignore': '/own\n',
  });
  const isLeft = ignoredIn(folder, 'tests');
  const left = ['a.tmp', 'data/', 'sub/own', 'sub/.harborignore', 'keep.tmp', 'own', 'test.sh', 'sub/'].filter(isLeft);
  expect(left).toEqual(['a.tmp', 'data/', 'sub/own', 'sub/.harborignore']);
});

it('excludes as tar does', () => {
  const isLeft = excludedBy(['*.log', 'cache', './top.txt', 'a/b?', 'x[0-9]/']);
  const paths = ['a.log', 'd/e.log', 'cache/', 'd/cache/f', 'top.txt', 'd/top.txt', 'a/bc', 'x1/', 'keep', 'logs'];
  expect(paths.filter(isLeft)).toEqual(['a.log', 'd/e.log', 'cache/', 'd/cache/f', 'top.txt', 'a/bc', 'x1/']);
});

async function listTasks(options: Partial<Parameters<typeof createHarborReader>[0]>): Promise<readonly Task[]> {
  const notices: string[] = [];
  const reader = createHarborReader({
    training: null,
    validation: null,
    unsupported: 'error',
    onNotice: (message) => notices.push(message),
    ...options,
  });
  const tasks: Task[] = [];
  for await (const task of reader.trainingTasks()) tasks.push(task);
  tasks.push(...notices.map((mainQuery) => ({ taskId: 'notice', mainQuery, initMessages: [], metadata: {} })));
  return tasks;
}

it('gives the tasks of a folder without their tests and solutions', async () => {
  const set = path.join(root, 'set', 'org');
  const folder = writeTask('[task]\nname = "o/n"\n[agent]\ntimeout_sec = 5', { 'tests/test.sh': 'SECRET' }, set);
  const [task, ...others] = await listTasks({ training: path.dirname(set) });
  expect(task).toMatchObject({
    taskId: `org/${path.basename(folder)}`,
    mainQuery: 'Do it.\n',
    metadata: { harbor: { name: 'o/n', agent: { timeout_sec: 5 }, verifier: { mode: 'shared' } } },
  });
  expect(others).toEqual([]);
  expect(JSON.stringify(task)).not.toContain('SECRET');
});

it('stops at a task that cannot be run, or leaves it out and says so', async () => {
  const set = path.join(root, 'mixed');
  writeTask('', {}, set);
  writeTask('[environment]\ngpus = 8', {}, set);
  await expect(listTasks({ training: set })).rejects.toThrow('environment.gpus is 8');
  const tasks = await listTasks({ training: set, unsupported: 'leave_out' });
  expect(tasks).toHaveLength(2);
  expect(tasks[1]?.mainQuery).toMatch(/^1 of 2 tasks of .* are left out. The first: .*gpus is 8/);
});

it('says so if a folder has no task', async () => {
  await expect(listTasks({ training: path.join(root, 'nowhere') })).rejects.toThrow('does not exist');
  mkdirSync(path.join(root, 'none'));
  await expect(listTasks({ training: path.join(root, 'none') })).rejects.toThrow('no folder in it has a task.toml');
});
