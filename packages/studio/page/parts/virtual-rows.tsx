import { useEffect, useReducer, useRef } from 'preact/hooks';
import type { ComponentChildren, RefObject } from 'preact';
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';

export type VirtualRow = { readonly index: number; readonly start: number; readonly size: number };

export type VirtualRows = {
  readonly rows: readonly VirtualRow[];
  readonly totalSize: number;
  readonly scrollTo: (index: number) => void;
};

/** The rows of a long list that are on the screen. */
export function useVirtualRows(
  scroller: RefObject<HTMLDivElement | null>,
  count: number,
  rowHeight: number,
): VirtualRows {
  const [, redraw] = useReducer<number, void>((version) => version + 1, 0);
  const virtual = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(),
  };
  virtual.current ??= new Virtualizer<HTMLElement, HTMLElement>(options);
  virtual.current.setOptions(options);
  useEffect(() => {
    const end = virtual.current?._didMount();
    virtual.current?._willUpdate();
    redraw();
    return end;
  }, []);
  useEffect(() => virtual.current?._willUpdate());
  return {
    rows: virtual.current.getVirtualItems(),
    totalSize: virtual.current.getTotalSize(),
    scrollTo: (index) => virtual.current?.scrollToIndex(index, { align: 'auto' }),
  };
}

/** A scrolling area whose rows exist only while they are visible. */
export function Scroller({
  at,
  height,
  label,
  children,
}: {
  readonly at: RefObject<HTMLDivElement | null>;
  readonly height: string;
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div ref={at} class="scroller" style={{ height }} tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}
