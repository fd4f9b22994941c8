// Colours as style sheets write them (#rgb where a minifier could shorten it) to what canvases want.

export function channels(css: string): [number, number, number] {
  const hex = css.replace("#", "");
  const wide = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  const value = Number.parseInt(wide, 16);
  if (wide.length !== 6 || Number.isNaN(value)) return [128, 128, 128];
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function faded(css: string, alpha: number): string {
  return `rgba(${channels(css).join(", ")}, ${alpha})`;
}

/** RGBA as a pixel of ImageData: every machine that a browser runs on is little-endian. */
export function packed(css: string): number {
  const [red, green, blue] = channels(css);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
