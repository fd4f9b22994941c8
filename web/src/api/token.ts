// The token that the collector may want, kept for this tab only, and who waits for it.

const KEY = "headway-token";
const listeners = new Set<() => void>();
let wanted = false;

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}
export function tokenWanted(): boolean {
  return wanted;
}

function tell(): void {
  for (const listener of [...listeners]) listener();
}

/** The collector said 401. */
export function wantToken(): void {
  if (wanted) return;
  wanted = true;
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
