import { ConfigError, setting, z } from '@agentjet/core';
import { defineEnvironment, defineReader } from '@agentjet/rollout/inputs';

export const harbor = defineEnvironment({
  name: 'harbor',
  summary: 'tasks in the format of Harbor, each in a separate container',
  section: z.strictObject({
    engine: setting(
      z.enum(['auto', 'podman', 'docker', 'kubernetes']),
      'auto',
      'auto: podman if it works, or else docker',
    ),
    kubernetes: z
      .strictObject({
        namespace: setting(
          z.string().min(1).nullable(),
          null,
          'null: the namespace of the current context, or of the pod that runs this',
        ),
        image: setting(
          z.string().min(1).nullable(),
          null,
          'the image of a task without docker_image, such as registry.example.com/tasks/{digest}; {digest} is that of its folder',
        ),
        pull_secret: setting(z.string().min(1).nullable(), null, 'a Secret with the credentials of the registry'),
        tools_image: setting(
          z.string().min(1),
          'busybox:1.37.0-musl',
          'an image with a static /bin/busybox, which every box gets',
        ),
      })
      .describe('the cluster of engine: kubernetes'),
    require_separate_verifier: setting(
      z.boolean(),
      false,
      'true: refuse tasks whose verifier runs in the machine of the agent, because an agent with root can deceive it',
    ),
    guard_shared_verifier: setting(
      z.boolean(),
      true,
      "end the agent's processes and empty /logs before a verifier in the agent's machine; false: as Harbor does, for tasks that leave a server running",
    ),
    count_model_time: setting(
      z.boolean(),
      false,
      "whether waiting for the model counts towards the agent's time limit in task.toml",
    ),
    command_timeout: setting(z.number().positive().max(86_400), 300, 'seconds for one command of the agent'),
    output_chars: setting(z.int().min(200).max(1_000_000), 20_000, 'longest result of a tool; the middle is left out'),
    box_life: setting(
      z.number().positive().max(1_000_000),
      14_400,
      'most seconds for an agent, including its waiting for the model; a longer limit in task.toml goes before it',
    ),
  }),
  async open({ engine, kubernetes, commandTimeout, outputChars, boxLife, ...section }) {
    const [{ findBoxHost }, { openHarbor }] = await Promise.all([
      import('./find-box-host.js'),
      import('./harbor-environment.js'),
    ]);
    return openHarbor({
      ...section,
      engine: await findBoxHost(engine, kubernetes),
      commandSeconds: commandTimeout,
      outputCharacters: outputChars,
      lifeSeconds: boxLife,
      onNotice: (message) => process.emitWarning(message, 'HarborNotice'),
    });
  },
});

const folder = z.string().min(1).nullable();

export const harborTasks = defineReader({
  name: 'harbor',
  section: z
    .strictObject({
      training: z.strictObject({
        folder: setting(folder, null, 'a folder with task folders, as `harbor datasets download` writes it', {
          path: 'file',
        }),
      }),
      validation: z.strictObject({ folder: setting(folder, null, 'null: no evaluation', { path: 'file' }) }),
      unsupported: setting(
        z.enum(['error', 'leave_out']),
        'error',
        'a task that cannot be honoured: error (stops the run) | leave_out',
      ),
    })
    .describe("folders in Harbor's format; environment.protocol: harbor runs them"),
  async open({ training, validation, unsupported }, { onNotice = () => undefined }) {
    if (training.folder === null && validation.folder === null)
      throw new ConfigError(
        'no_tasks',
        'task_reader.type is harbor, but task_reader.harbor.training.folder is empty. Name a folder of tasks.',
      );
    const { createHarborReader } = await import('./reader.js');
    return createHarborReader({ training: training.folder, validation: validation.folder, unsupported, onNotice });
  },
});
