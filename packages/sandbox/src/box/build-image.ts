import { askEngine, callEngine, checkRoom, type BoxEngine } from './engine.js';

/** Images for boxes. Each is built or pulled once for all boxes and kept. */

export type ImageSource =
  | { readonly kind: 'named'; readonly image: string }
  | {
      readonly kind: 'built';
      /** The folder with the Dockerfile. */
      readonly context: string;
      /** Identifies the content of the folder. */
      readonly digest: string;
    };

const preparing = new WeakMap<BoxEngine, Map<string, Promise<string>>>();

/**
 * Returns the name of an image that the engine has, after it was built or pulled if necessary. Simultaneous calls for
 * the same image share the work, which continues if one of the callers gives up. Throws SandboxError.
 */
export async function prepareImage(engine: BoxEngine, source: ImageSource, seconds: number): Promise<string> {
  const name = source.kind === 'named' ? source.image : `localhost/agentjet/box:${source.digest.slice(0, 32)}`;
  const running = preparing.get(engine) ?? new Map<string, Promise<string>>();
  preparing.set(engine, running);
  const work =
    running.get(name) ??
    prepare(engine, { source, name, seconds }).finally(() => {
      running.delete(name);
    });
  running.set(name, work);
  return work;
}

async function prepare(
  engine: BoxEngine,
  { source, name, seconds }: { readonly source: ImageSource; readonly name: string; readonly seconds: number },
): Promise<string> {
  if ((await callEngine(engine, ['image', 'inspect', '--format', '{{.Id}}', name], { seconds: 60 })).status === 0)
    return name;
  checkRoom(engine);
  const args =
    source.kind === 'named'
      ? ['pull', name]
      : [
          'build',
          '--tag',
          name,
          '--label',
          `org.agentjet.digest=${source.digest}`,
          '--file',
          `${source.context}/Dockerfile`,
          source.context,
        ];
  await askEngine(engine, args, { seconds });
  return name;
}
