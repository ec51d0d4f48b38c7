// The Nodes that we promise, from the npm packages that hold their binaries: the oldest, and the newest release of each later major.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** By major; `npm` is given if the one of the machine does not fit the age of this Node. */
export const nodes = {
  20: { version: '20.19.0' },
  22: { version: '22.23.3' },
  24: { version: '24.21.0' },
  26: { version: '26.12.1', npm: '12.2.1' },
};

const platform = process.platform === 'win32' ? 'win' : process.platform;
const folderOf = ({ version, npm = 'machine' }) => path.join(tmpdir(), 'agentjet-nodes', `${version}-npm-${npm}`);

/** Installs a Node once. Returns the folders of `node` and, if it has its own, `npm` for the environment variable PATH. Throws if npm cannot download it. */
export function installNode(node) {
  const dir = folderOf(node);
  const name = `node-${platform}-${process.arch}`;
  const [bin, npmBin] = [path.join(dir, 'node_modules', name, 'bin'), path.join(dir, 'node_modules/.bin')];
  const paths = node.npm === undefined ? [bin] : [bin, npmBin];
  if (existsSync(path.join(bin, platform === 'win' ? 'node.exe' : 'node'))) return paths;
  mkdirSync(dir, { recursive: true });
  for (const folder of [path.dirname(dir), dir]) chmodSync(folder, 0o755); // other users run it too
  const packages = [`${name}@${node.version}`, ...(node.npm === undefined ? [] : [`npm@${node.npm}`])];
  const args = ['install', '--prefix', dir, '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', ...packages];
  const isWindows = process.platform === 'win32';
  execFileSync(isWindows ? 'npm.cmd' : 'npm', args, {
    cwd: dir,
    stdio: ['ignore', 'ignore', 'pipe'],
    shell: isWindows,
  });
  return paths;
}
