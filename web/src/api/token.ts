// The token that the collector may want, kept for this tab only, and who waits for it.

const KEY = "headway-token";
const listeners = new Set<() => void>();
let wanted = false;
let said = "";

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}
export function tokenWanted(): boolean {
  return wanted;
}

function tell(): void {
  for (const listener of [...listeners]) listener();
}

/** What the collector said of the token that it did not take. */
export function tokenRefusal(): string {
  return said;
}

/** The collector answered so to a question: where another token would help, one is asked for. One that
 * may read and nothing else is good enough for that: what it may not change is told where it was tried. */
export function heedRefusal(status: number, text: string): void {
  const wrong_role = status === 403 && /needs one for read$/.test(text);
  if (wanted || (status !== 401 && !wrong_role)) return;
  wanted = true;
  said = text;
  tell();
}

export function giveToken(text: string): void {
  sessionStorage.setItem(KEY, text.trim());
  wanted = false;
  tell();
}

export function onToken(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
