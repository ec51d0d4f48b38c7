import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { secondsOf, splitWords } from './compose-text.js';
import { readCompose } from './read-compose.js';

const root = mkdtempSync(path.join(tmpdir(), 'compose-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const refuse = (what: string): never => {
  throw new Error(what);
};

async function read(yaml: string, env: Readonly<Record<string, string>> = {}) {
  const folder = path.join(mkdtempSync(path.join(root, 'task-')), 'environment');
  mkdirSync(path.join(folder, 'web'), { recursive: true });
  for (const file of ['Dockerfile', 'web/Dockerfile', 'web/Other']) writeFileSync(path.join(folder, file), 'FROM x\n');
  writeFileSync(path.join(folder, 'docker-compose.yaml'), yaml);
  return { folder, compose: await readCompose(folder, env, refuse) };
}

it('reads each key that it honours, and puts services after those that they wait for', async () => {
  const { folder, compose } = await read(
    `
version: '3'
x-note: &common
  user: 1000
volumes: { data: , more: {} }
networks: { inner: }
services:
  main:
    build: { context: '\${CONTEXT_DIR}' }
    command: ['sh', '-c', 'sleep infinity']
    environment: { A: '\${A}', B: '\${MISSING:-b}' }
    volumes: ['\${HOST_VERIFIER_LOGS_PATH}:\${ENV_VERIFIER_LOGS_PATH}', 'data:/data:ro']
    working_dir: /w
    networks: [inner]
    depends_on: [web]
  web:
    <<: *common
    build: { context: ./web, dockerfile: Other }
    entrypoint: python3 -u
    command: server.py --title "a b" --price 1$$
    depends_on:
      db: { condition: service_healthy }
      setup: { condition: service_completed_successfully }
    networks: { inner: { aliases: [www] } }
    expose: [80]
  setup: { image: tools, command: make, networks: [inner], volumes: [{ type: volume, source: more, target: /m }, /tmp/x] }
  db:
    image: db:1
    x-note: anything
    networks: [inner]
    healthcheck: { test: [CMD, ask, "it's"], interval: 2s, timeout: 1m30s, retries: 5, start_period: 1s }
`,
    { A: 'a' },
  );
  const usual = { user: undefined, workdir: undefined, env: {}, volumes: [], waitsFor: [], isPreparation: false };
  expect(compose).toMatchObject({
    main: {
      image: { build: { folder }, image: null },
      program: undefined,
      env: { A: 'a', B: 'b' },
      volumes: [{ name: 'data', path: '/data', isReadOnly: true }],
      workdir: '/w',
    },
    services: [
      {
        ...usual,
        name: 'setup',
        image: { build: null, image: 'tools' },
        program: { entrypoint: null, command: ['make'] },
        volumes: [
          { name: 'more', path: '/m', isReadOnly: false },
          { name: null, path: '/tmp/x', isReadOnly: false },
        ],
        isPreparation: true,
      },
      {
        ...usual,
        name: 'db',
        healthcheck: {
          command: `'ask' 'it'\\''s'`,
          interval_sec: 2,
          timeout_sec: 90,
          retries: 5,
          start_period_sec: 2, // an engine asks for the first time after one interval
          start_interval_sec: 1,
        },
      },
      {
        ...usual,
        name: 'web',
        image: { build: { folder: path.join(folder, 'web'), dockerfile: 'Other' }, image: null },
        program: { entrypoint: ['python3', '-u'], command: ['server.py', '--title', 'a b', '--price', '1$'] },
        user: '1000',
        waitsFor: [
          { service: 'db', condition: 'service_healthy' },
          { service: 'setup', condition: 'service_completed_successfully' },
        ],
      },
    ],
    volumes: ['data', 'more'],
    names: ['main', 'web', 'www', 'setup', 'db'],
  });
});

it('leaves the image and the program of the main machine to the task if the file does not name them', async () => {
  const { compose } = await read('services: { web: { image: w } }');
  expect(compose?.main).toMatchObject({ image: null, program: undefined, env: {} });
  expect((await read('services: { main: { command: server --on } }')).compose?.main.program).toEqual({
    entrypoint: null,
    command: ['server', '--on'],
  });
});

const web = (yaml: string): string => `services: { web: { image: w, ${yaml} } }`;

it.each([
  ['services.web.ports is a key that boxes do not have', web('ports: ["80:80"]')],
  ['services.web.privileged is a key', web('privileged: true')],
  ['services.web.build.args is a key', 'services: { web: { build: { context: web, args: { A: 1 } } } }'],
  ['services.web.depends_on.db.restart is a key', web('depends_on: { db: { restart: true } }')],
  ['services.web.healthcheck.x is a key', web('healthcheck: { x: 1 }')],
  ['secrets is a key that boxes do not have', 'services: {}\nsecrets: {}'],
  ['volumes.v.driver is a key', 'services: {}\nvolumes: { v: { driver: x } }'],
  ['networks.n.internal is a key', 'services: {}\nnetworks: { n: { internal: true } }'],
  ['services.web.volumes.0.type is wrong', web('volumes: ["./data:/data"]')],
  ['services.web.volumes.0.type is wrong', web('volumes: ["data:/data:z"]')],
  ['services.web.volumes.0.target is wrong', web('volumes: [{ type: volume, target: "/etc:/host" }]')],
  ['which only it could write, as read-only', web('volumes: [{ type: volume, target: /x, read_only: true }]')],
  ['services.web.image is wrong', 'services: { web: { image: --privileged } }'],
  [
    'services.web.build.dockerfile is ../../task.toml, outside of environment/',
    'services: { web: { build: { context: web, dockerfile: ../../task.toml } } }',
  ],
  ['services.web.volumes names data, which is not in volumes', web('volumes: ["data:/data"]')],
  ['services.web.volumes names /logs/agent', web('volumes: ["/logs/agent:/logs/agent"]')],
  ['services.web.healthcheck.interval is wrong. Give a time', web('healthcheck: { interval: soon }')],
  ['test begins with "ask"', web('healthcheck: { test: [ask] }')],
  ['services.web.depends_on names db, which is not a service', web('depends_on: [db]')],
  ['services.web.depends_on names main', web('depends_on: [main]')],
  [
    'waits until db is healthy, but services.db has no healthcheck',
    `${web('depends_on: { db: { condition: service_healthy } }').slice(0, -2)}, db: { image: d } }`,
  ],
  [
    'services.a.depends_on leads back to itself',
    'services: { a: { image: x, depends_on: [b] }, b: { image: x, depends_on: [a] } }',
  ],
  ['services.web has neither image nor build', 'services: { web: {} }'],
  ['services.web.build names none/Dockerfile, which does not exist', 'services: { web: { build: none } }'],
  ['services.web.build.context is .., outside of environment/', 'services: { web: { build: .. } }'],
  [
    'services.b.networks separates it from a',
    'networks: { n: }\nservices: { a: { image: x }, b: { image: x, networks: [n] } }',
  ],
  ['services.web.networks names n, which is not in networks', web('networks: [n]')],
  [
    'services.b.expose and services.a.expose have port 80',
    'services: { a: { image: x, expose: [80] }, b: { image: x, expose: ["80"] } }',
  ],
  ['needs the environment variable NO_SUCH, which is not set', web('user: "${NO_SUCH}"')],
  ['needs the variable NO_SUCH', web('environment: [NO_SUCH]')],
  ['Write $$ for a dollar sign', web('user: "$1"')],
  ['Write $$ for a dollar sign', web('user: "${A:-${B}}"')],
  ['Write $$ for a dollar sign', web('user: "${A:?needed}"')],
  ['it is not YAML', 'services: {'],
])('refuses by name: %s', async (message, yaml) => {
  await expect(read(yaml)).rejects.toThrow(message);
});

it('splits commands into words as a shell does', () => {
  expect(splitWords(`a 'b c'  "d \\"e\\" $F"g h\\ i "" '\\'`)).toEqual(['a', 'b c', 'd "e" $Fg', 'h i', '', '\\']);
});

it('reads lengths of time', () => {
  expect(['500ms', '1m30s', '2h', '1.5s', '3', 's', ''].map(secondsOf)).toEqual([
    0.5,
    90,
    7200,
    1.5,
    undefined,
    undefined,
    undefined,
  ]);
});
