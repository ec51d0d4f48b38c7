import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** Keys of the present view, by their names. A view sets them while it is shown. */
type Keys = Readonly<Record<string, () => void>>;

const stack: { readonly keys: () => Keys }[] = [];
export const isHelpOpen = signal(false);

/** Binds keys while the component is shown. `keys` is called at each key, so that it sees the newest state. */
export function useKeys(keys: () => Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const entry = { keys: () => latest.current() };
    stack.push(entry);
    return () => void stack.splice(stack.indexOf(entry), 1);
  });
}

export function startKeyboard(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea') !== null;
    if (isTyping && event.key !== 'Escape') return;
    if (isTyping && event.target instanceof HTMLElement) return event.target.blur();
    const isOnControl = event.target instanceof Element && event.target.closest('a, button, summary') !== null;
    if (event.key === 'Enter' && isOnControl) return;
    if (event.key === '?') return void (isHelpOpen.value = !isHelpOpen.value);
    if (event.key === 'Escape' && isHelpOpen.value) return void (isHelpOpen.value = false);
    const found = stack.toReversed().flatMap(({ keys }) => keys()[event.key] ?? [])[0];
    if (found === undefined) return;
    event.preventDefault();
    found();
  });
}

const keyWords: readonly (readonly [string, string])[] = [
  ['j  k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['h  l', 'previous and next group, episode or step'],
  ['←  →', 'previous and next token'],
  ['n', 'next surprising token'],
  ['/', 'search or filter'],
  ['u', 'up: from an episode to its group, its step, its run'],
  ['?', 'this list'],
];

export function Help() {
  if (!isHelpOpen.value) return null;
  return (
    <div class="overlay" onClick={() => (isHelpOpen.value = false)}>
      <div class="dialog" role="dialog" aria-label="Keys" aria-modal="true">
        <h2>Keys</h2>
        <dl>
          {keyWords.map(([keys, words]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
        <button type="button" onClick={() => (isHelpOpen.value = false)}>
          Close
        </button>
      </div>
    </div>
  );
}
