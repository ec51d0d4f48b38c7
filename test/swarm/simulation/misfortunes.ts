import { ServerProcess } from './server-process.js';
import type { Parts } from './simulate.js';

/** Causes faults and orders at random moments, about one every 1.2 seconds. */
export function misfortunes(parts: Parts): void {
  const { world } = parts;
  world.after(world.about(1200), () => {
    if (!world.hasFaults) return;
    draw(parts)(parts);
    misfortunes(parts);
  });
}

type Misfortune = (parts: Parts) => void;

function draw({ world }: Parts): Misfortune {
  let at = world.random();
  const [, found] = misfortuneShares.find(([share]) => (at -= share) < 0) ?? [0, killServer];
  return found;
}

const killServer: Misfortune = ({ servers, crash }) => {
  for (const server of servers) if (server.isAlive && !server.isStopped) crash(server);
};

const jumpClocks: Misfortune = ({ world, servers }) => {
  for (const server of servers) server.jumpClock(world.about(600_000));
};

const killClient: Misfortune = ({ world, clients }) => {
  clients[Math.floor(world.random() * clients.length)]?.crash();
};

const cutOneWay: Misfortune = ({ world, clients, network }) => {
  const way = `c${Math.floor(world.random() * clients.length)} ${world.chance(0.5) ? 'in' : 'out'}`;
  network.cut.add(way);
  world.after(world.about(3000), () => network.cut.delete(way));
};

/** Starts a second server, which takes the store over although the first one may still run. */
const takeOver: Misfortune = (parts) => {
  parts.servers.push(new ServerProcess(parts));
};

const configure: Misfortune = ({ operator, audit }) => {
  operator.configure().catch((error: unknown) => audit.require(false, `configure: ${String(error)}`));
};

const changeShares: Misfortune = ({ operator, audit, run }) => {
  if (run.shares === undefined) return;
  operator.share().catch((error: unknown) => audit.require(false, `shares: ${String(error)}`));
};

const pauseAWhile: Misfortune = ({ world, operator, audit }) => {
  const resume = (): void => {
    operator.operate('resume').catch((error: unknown) => audit.require(false, `resume: ${String(error)}`));
  };
  operator.operate('pause').then(
    () => world.after(world.about(4000), resume),
    (error: unknown) => audit.require(false, `pause: ${String(error)}`),
  );
};

/** All clients restart with new agent code. Half of the time the groups of the old code are dropped. */
const newCode: Misfortune = ({ world, code, clients, operator, audit }) => {
  const revision = `r${++code.revision}`;
  for (const client of clients) client.crash();
  if (!world.chance(0.5)) return;
  operator
    .order((swarm) => swarm.supersede(revision))
    .catch((error: unknown) => audit.require(false, `supersede: ${String(error)}`));
};

const misfortuneShares: readonly (readonly [number, Misfortune])[] = [
  [0.35, killServer],
  [0.25, killClient],
  [0.12, cutOneWay],
  [0.03, jumpClocks],
  [0.06, takeOver],
  [0.03, configure],
  [0.03, changeShares],
  [0.06, pauseAWhile],
  [0.07, newCode],
];
