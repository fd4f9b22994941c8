// A command to be typed elsewhere, and a button that copies it.

import { say } from "./announce";

async function copy(text: string, line: HTMLElement | null): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    // No clipboard without TLS: it is selected, for whoever copies it by key.
    if (line) getSelection()?.selectAllChildren(line);
    say("Selected: copy it by key");
  }
}

export function CopyLine({ text, what }: { text: string; what: string }) {
  return (
    <div class="copy-line">
      <code>{text}</code>
      <button
        type="button"
        class="quiet"
        aria-label={`Copy ${what}`}
        onClick={(event) =>
          void copy(text, event.currentTarget.parentElement?.querySelector("code") ?? null)
        }
      >
        Copy
      </button>
    </div>
  );
}
