import { expect, test } from "vitest";
import { endNext, endWords } from "../../src/model/ended";

test("an end that nobody judged says what is known of it, and where to look", () => {
  const killed = { rank: 1, signal: 9, exit_code: 0 };
  expect(endWords(killed)).toBe("rank 1 was killed by SIGKILL");
  expect(endNext(killed, "ctr")).toMatch(
    /^Nothing says why\. Ask who sends SIGKILL.*`headway why ctr`/,
  );
  expect(endWords({ rank: null, signal: 64, exit_code: 0 })).toBe("it was killed by signal 64");
  const exited = { rank: 0, signal: 0, exit_code: 3 };
  expect(endWords(exited)).toBe("rank 0 exited with code 3");
  expect(endNext(exited, "ctr")).not.toMatch(/SIG/);
  expect(endWords({ rank: 0, signal: 0, exit_code: 0 })).toBe("not judged");
});
