import { execFile, execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from './free-port.js';

/** Runs the tutorial over a real sshd on loopback, with new keys, and with a folder for each of the two machines. */

const root = path.resolve(import.meta.dirname, '../..');
const sshd = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find((file) => existsSync(file));
const hasClient = spawnSync('ssh', ['-V']).status === 0 && spawnSync('scp', []).error === undefined;
const dir = mkdtempSync(path.join(tmpdir(), 'laptop-'));
const [laptop, gpuBox, bin] = ['laptop', 'gpu-box', 'bin'].map((name) => path.join(dir, name)) as [
  string,
  string,
  string,
];
let daemon: ChildProcess | undefined;

function script(name: string, text: string): string {
  const file = path.join(bin, name);
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

async function startSshd(program: string): Promise<void> {
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path.join(dir, name)]);
  cpSync(path.join(dir, 'user.pub'), path.join(dir, 'authorized_keys'));
  const port = await freePort();
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true }); // sshd requires this folder
  const inFolder = script(
    'in-folder',
    `#!/bin/bash\nexport PATH=${bin}:$PATH\ncd ${gpuBox} && eval "$SSH_ORIGINAL_COMMAND"\n`,
  );
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${dir}/host`,
    `AuthorizedKeysFile ${dir}/authorized_keys`,
    `PidFile ${dir}/sshd.pid`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin prohibit-password',
    `Subsystem sftp ${['/usr/lib/openssh/sftp-server', '/usr/libexec/sftp-server'].find((file) => existsSync(file))}`,
    `ForceCommand ${inFolder}`,
  ];
  writeFileSync(path.join(dir, 'sshd_config'), `${config.join('\n')}\n`);
  const client = [
    'Host gpu-box',
    '  HostName 127.0.0.1',
    `  Port ${port}`,
    `  User ${userInfo().username}`,
    `  IdentityFile ${dir}/user`,
    '  IdentitiesOnly yes',
    '  StrictHostKeyChecking no',
    `  UserKnownHostsFile ${dir}/known_hosts`,
    '  LogLevel ERROR',
  ];
  writeFileSync(path.join(dir, 'ssh_config'), `${client.join('\n')}\n`);
  daemon = spawn(program, ['-D', '-f', path.join(dir, 'sshd_config'), '-E', path.join(dir, 'sshd.log')]);
  for (const name of ['ssh', 'scp']) {
    const real = execFileSync('which', [name], { encoding: 'utf8' }).trim();
    script(name, `#!/bin/bash\nexec ${real} -F ${dir}/ssh_config "$@"\n`);
  }
}

beforeAll(() => {
  for (const folder of [laptop, gpuBox, bin]) mkdirSync(folder, { recursive: true });
  cpSync(path.join(root, 'tutorial/frozen-lake'), laptop, { recursive: true });
  script('ajet', `#!/bin/bash\nexec ${process.execPath} ${root}/packages/cli/dist/main.js "$@"\n`);
});
afterAll(() => {
  daemon?.kill();
  rmSync(dir, { recursive: true, force: true });
});

/** The commands are those of the page, except that the model is small enough for a test. */
const settings = [
  'data.train_batch_size=2',
  'rollout.num_repeat=2',
  'trainer_common.total_training_steps=2',
  'trainer_common.val_before_train=false',
  'trainer_common.test_freq=0',
  'onnx.num_threads=1',
].join(' ');

it.skipIf(sshd === undefined || !hasClient)(
  'every command of the page from a laptop to a GPU machine works',
  async () => {
    await startSshd(sshd ?? '');
    const page = readFileSync(path.join(root, 'tutorial/laptop-to-gpu/README.md'), 'utf8');
    const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
    expect(blocks).toHaveLength(6);
    const [port, local] = [await freePort(), await freePort()];
    const body = blocks
      .join('\n')
      .replaceAll('8700', String(port))
      .replaceAll('8701', String(local))
      .replace('--port', `${settings} --port`);
    // the tunnel breaks while the agent works
    const broken = body.replace('ajet swarm run', '( sleep 4; pkill -P $TUNNEL ) &\najet swarm run');
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, BACKBONE: 'onnx' };
    const { stdout } = await promisify(execFile)('bash', ['-c', `set -euxo pipefail\n${broken}`], {
      cwd: laptop,
      env,
      timeout: 500_000,
    }).catch((error: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`${error.stdout.slice(-2000)}\n${error.stderr.slice(-3000)}`);
    });
    expect(stdout).toContain('checkpoint: done');
    expect(existsSync(path.join(laptop, 'lake-model', 'model.safetensors'))).toBe(true);
    const [run = ''] = execFileSync('bash', ['-c', 'ls -d saved_experiments/*/*'], {
      cwd: gpuBox,
      encoding: 'utf8',
    }).split('\n');
    const verdict = execFileSync(path.join(bin, 'ajet'), ['swarm', 'verify', run, '--json'], {
      cwd: gpuBox,
      encoding: 'utf8',
    });
    expect(JSON.parse(verdict)).toMatchObject({ sound: true, steps: 2, acknowledged: 8 });
  },
);
