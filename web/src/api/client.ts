// Requests to the collector this page came from, and nowhere else.

import { RequestQueue } from "./queue";
import { heedRefusal, token } from "./token";

const ANSWER_MAX_MS = 60_000;
const queue = new RequestQueue();

export class ApiError extends Error {
  constructor(
    /** 0: no answer at all. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export function headers(): HeadersInit {
  const given = token();
  return given ? { Authorization: `Bearer ${given}` } : {};
}

/** Why there is no answer, in the collector's words. */
export async function failure(response: Response): Promise<ApiError> {
  let text = "";
  try {
    const body: unknown = await response.json();
    if (body && typeof body === "object" && "error" in body) text = String(body.error);
  } catch {
    // Not ours: a proxy's page, or cut off. The status has to do.
  }
  heedRefusal(response.status, text);
  return new ApiError(response.status, text || `The collector answered ${response.status}.`);
}

async function ask(path: string, init: RequestInit): Promise<unknown> {
  const signal = AbortSignal.timeout(ANSWER_MAX_MS);
  let response: Response;
  try {
    response = await fetch(path, { ...init, signal, headers: { ...headers(), ...init.headers } });
  } catch {
    if (signal.aborted) throw new ApiError(0, `No answer for ${ANSWER_MAX_MS / 1000} s.`);
    throw new ApiError(0, "The collector does not answer.");
  }
  if (!response.ok) throw await failure(response);
  try {
    return await response.json();
  } catch {
    throw new ApiError(response.status, "The collector's answer was cut off.");
  }
}

export async function get<T>(path: string): Promise<T> {
  return (await queue.run(path, () => ask(path, {}))) as T;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  })) as T;
}
