// Fetches and decodes timelines beside the page: megabytes of JSON would hold up its frames.

import type { TimelineAnswer } from "../api/types";
import { decode, type Layer } from "./lanes";

export interface Wanted {
  id: number;
  path: string;
  token: string | null;
}
export type Found = { id: number; layer: Layer } | { id: number; status: number; message: string };

async function find({ id, path, token }: Wanted): Promise<[Found, Transferable[]]> {
  try {
    const headers: HeadersInit = token ? { Authorization: `Bearer ${token}` } : {};
    const response = await fetch(path, { headers });
    const body = (await response.json()) as TimelineAnswer | { error: string };
    if (!response.ok || "error" in body) {
      const message = "error" in body ? body.error : `The collector answered ${response.status}.`;
      return [{ id, status: response.status, message }, []];
    }
    const layer = decode(body);
    const buffers = layer.lanes.flatMap((lane) => [
      lane.start.buffer,
      lane.end.buffer,
      lane.bucket.buffer,
    ]);
    return [{ id, layer }, buffers];
  } catch {
    return [{ id, status: 0, message: "The collector does not answer." }, []];
  }
}

addEventListener("message", (event: MessageEvent<Wanted>) => {
  void find(event.data).then(([found, buffers]) => postMessage(found, { transfer: buffers }));
});
