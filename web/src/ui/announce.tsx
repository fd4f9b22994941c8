// One polite voice for the page: what it says is shown for a moment and read by screen readers.

import { useEffect, useState } from "preact/hooks";

const SHOWN_MS = 4000;
let speak: (text: string, shown: boolean) => void = () => {};

/** Shown and read: the answer to something a person did. */
export function say(text: string): void {
  speak(text, true);
}

/** Read only: what changed by itself. Never more often than the caller's own pace. */
export function mention(text: string): void {
  speak(text, false);
}

export function Announcer() {
  const [shown, setShown] = useState("");
  const [read, setRead] = useState("");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    speak = (text, visible) => {
      setRead(text);
      if (!visible) return;
      setShown(text);
      clearTimeout(timer);
      timer = setTimeout(() => setShown(""), SHOWN_MS);
    };
    return () => clearTimeout(timer);
  }, []);
  return (
    <>
      <div class="hidden" role="status" aria-live="polite">
        {read}
      </div>
      <div class="toast" aria-hidden="true">
        {shown}
      </div>
    </>
  );
}
