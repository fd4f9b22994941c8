// Text of the collector in which `backticks` hold what is typed.

export function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}
