// Wheel, drag and pinch over the timeline, as changes of its window.

import { panned, zoomed, type Window } from "./window";

export interface Surface {
  element: HTMLElement;
  window: () => Window;
  whole: () => Window;
  /** Of an event: where it lies on the plot, 0 to 1. */
  share: (x: number) => number;
  plotWidth: () => number;
  show: (window: Window) => void;
  hover: (x: number, y: number) => void;
  leave: () => void;
}

const WHEEL_RATE = 0.0018;
const LINE_PX = 33;
/** A scroll of the page that merely comes past here goes on scrolling the page. */
const GESTURE_MS = 300;

export function attachPointer(surface: Surface): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const { element } = surface;
  attachWheel(surface, options);
  const held = new Map<number, number>();
  let drag: { window: Window; x: number } | null = null;
  let pinch: { window: Window; distance: number; middle: number } | null = null;

  const begin = (): void => {
    const at = [...held.values()];
    drag = at.length === 1 ? { window: surface.window(), x: at[0] as number } : null;
    pinch =
      at.length === 2
        ? {
            window: surface.window(),
            distance: Math.max(20, Math.abs((at[0] as number) - (at[1] as number))),
            middle: ((at[0] as number) + (at[1] as number)) / 2,
          }
        : null;
    element.classList.toggle("dragging", held.size > 0);
  };
  element.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      held.set(event.pointerId, event.clientX);
      element.setPointerCapture(event.pointerId);
      begin();
    },
    options,
  );
  element.addEventListener(
    "pointermove",
    (event) => {
      if (!held.has(event.pointerId)) {
        surface.hover(event.clientX, event.clientY);
        return;
      }
      held.set(event.pointerId, event.clientX);
      if (drag) {
        const moved = (drag.x - event.clientX) / surface.plotWidth();
        surface.show(panned(drag.window, moved, surface.whole()));
      } else if (pinch) {
        const at = [...held.values()];
        const distance = Math.max(20, Math.abs((at[0] as number) - (at[1] as number)));
        const share = surface.share(pinch.middle);
        surface.show(zoomed(pinch.window, pinch.distance / distance, share, surface.whole()));
      }
    },
    options,
  );
  const release = (event: PointerEvent): void => {
    if (held.delete(event.pointerId)) begin();
  };
  element.addEventListener("pointerup", release, options);
  element.addEventListener("pointercancel", release, options);
  element.addEventListener("pointerleave", () => surface.leave(), options);
  element.addEventListener(
    "dblclick",
    (event) =>
      surface.show(zoomed(surface.window(), 0.2, surface.share(event.clientX), surface.whole())),
    options,
  );
  return () => stop.abort();
}

function attachWheel(surface: Surface, options: { signal: AbortSignal }): void {
  const { element } = surface;
  let outside_ms = -GESTURE_MS;
  addEventListener(
    "wheel",
    (event) => {
      if (!element.contains(event.target as Node)) outside_ms = event.timeStamp;
    },
    { ...options, passive: true, capture: true },
  );
  element.addEventListener(
    "wheel",
    (event) => {
      if (event.timeStamp - outside_ms < GESTURE_MS) {
        outside_ms = event.timeStamp;
        return;
      }
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
      const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
      if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
        const moved = (event.shiftKey ? dy + dx : dx) / surface.plotWidth();
        surface.show(panned(surface.window(), moved, surface.whole()));
        return;
      }
      const factor = Math.exp(dy * WHEEL_RATE);
      surface.show(zoomed(surface.window(), factor, surface.share(event.clientX), surface.whole()));
    },
    { ...options, passive: false },
  );
}
