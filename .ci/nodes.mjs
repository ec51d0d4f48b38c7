// The Nodes that we support are the oldest one and the newest release of each later major. npm packages hold their
// binaries.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Nodes by major. `npm` is set if the machine's npm does not work with this Node. */
export const nodes = {
  20: { version: '20.19.0' },
  22: { version: '22.23.3' },
  24: { version: '24.21.0' },
  26: { version: '26.12.1', npm: '12.2.1' },
};

const platform = process.platform === 'win32' ? 'win' : process.platform;
const folderOf = ({ version, npm = 'machine' }) => path.join(tmpdir(), 'agentjet-nodes', `${version}-npm-${npm}`);

/**
 * Installs a Node once. Returns the folders of `node` and, if the Node has its own, `npm` for the environment variable
 * PATH. Throws if npm cannot download it.
 */
export function installNode(node) {
  const dir = folderOf(node);
  const name = `node-${platform}-${process.arch}`;
  const [bin, npmBin] = [path.join(dir, 'node_modules', name, 'bin'), path.join(dir, 'node_modules/.bin')];
  const paths = node.npm === undefined ? [bin] : [bin, npmBin];
  if (existsSync(path.join(bin, platform === 'win' ? 'node.exe' : 'node'))) return paths;
  mkdirSync(dir, { recursive: true });
  for (const folder of [path.dirname(dir), dir]) chmodSync(folder, 0o755); // other users have to be able to run it
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
