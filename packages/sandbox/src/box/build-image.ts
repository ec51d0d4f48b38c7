import { askEngine, callEngine, checkRoom, type BoxEngine } from './engine.js';

/** Images for boxes. Each is built or pulled once for all boxes and kept. */

export type ImageSource =
  | { readonly kind: 'named'; readonly image: string }
  | {
      readonly kind: 'built';
      readonly context: string;
      /** The path of the Dockerfile below this folder. Default: `Dockerfile`. */
      readonly dockerfile?: string;
      /** Identifies the content of the folder, and the Dockerfile. */
      readonly digest: string;
    };

/** Returns the tag of the image that is built from a folder. */
export const tagOf = (digest: string): string => digest.slice(0, 32);

/** Images that are being prepared, and those that the engine has. */
const prepared = new WeakMap<BoxEngine, Map<string, Promise<string>>>();

/**
 * Returns the name of an image that the engine has, after it was built or pulled if necessary. Simultaneous calls for
 * the same image share the work, which continues if one of the callers gives up. Throws SandboxError.
 */
export async function prepareEngineImage(engine: BoxEngine, source: ImageSource, seconds: number): Promise<string> {
  const name = source.kind === 'named' ? source.image : `localhost/agentjet/box:${tagOf(source.digest)}`;
  const images = prepared.get(engine) ?? new Map<string, Promise<string>>();
  prepared.set(engine, images);
  const work = images.get(name) ?? prepare(engine, { source, name, seconds });
  images.set(name, work);
  work.catch(() => images.delete(name));
  return work;
}

/** Lets the next `prepareEngineImage` ask the engine again, because a box could not be started from the image. */
export function forgetImage(engine: BoxEngine, name: string): void {
  prepared.get(engine)?.delete(name);
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
          `${source.context}/${source.dockerfile ?? 'Dockerfile'}`,
          source.context,
        ];
  await askEngine(engine, args, { seconds });
  return name;
}
