import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Entry } from "../../src/api/entry";

const LIST = "/api/v1/jobs?limit=100";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

/** Answers count up; each takes so long. */
function counted(took_ms: number, path = LIST): { entry: Entry; asked: number[] } {
  const asked: number[] = [];
  const entry = new Entry(path, async () => {
    asked.push(Date.now());
    await new Promise((resolve) => setTimeout(resolve, took_ms));
    return asked.length;
  });
  entry.listeners.add(() => {});
  return { entry, asked };
}

test("what changes while a first answer is under way is asked for after it, and so is all later", async () => {
  const { entry, asked } = counted(50);
  void entry.load();
  await vi.advanceTimersByTimeAsync(10);
  entry.refresh();
  await vi.advanceTimersByTimeAsync(2000);
  expect(entry.data).toBe(2);
  for (let n = 3; n < 8; ++n) {
    entry.refresh();
    await vi.advanceTimersByTimeAsync(1200);
    expect(entry.data).toBe(n);
  }
  expect(asked).toHaveLength(7);
});

test("the same where an answer takes longer than what is waited between two", async () => {
  const { entry } = counted(8000);
  void entry.load();
  await vi.advanceTimersByTimeAsync(8000);
  for (let n = 0; n < 20; ++n) {
    entry.refresh();
    await vi.advanceTimersByTimeAsync(1000);
  }
  await vi.advanceTimersByTimeAsync(40_000);
  const { data } = entry;
  entry.refresh();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(entry.data).toBe(Number(data) + 1);
});

test("however much is heard, a list is asked for once a second and all else every three", async () => {
  for (const [path, times] of [
    [LIST, 10],
    ["/api/v1/fleet/losses", 4],
  ] as const) {
    const { entry, asked } = counted(5, path);
    for (let ms = 0; ms < 10_000; ms += 20) {
      entry.refresh();
      await vi.advanceTimersByTimeAsync(20);
    }
    expect(asked).toHaveLength(times);
  }
});

test("what nobody looks at is not asked for, and an error is told and forgotten", async () => {
  let wrong = true;
  const entry = new Entry(LIST, async () => {
    if (wrong) throw new Error("away");
    return 7;
  });
  entry.refresh();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(entry.error).toBeNull();
  await entry.load();
  expect(entry.error?.message).toBe("away");
  wrong = false;
  await entry.load();
  expect([entry.error, entry.data]).toEqual([null, 7]);
});
