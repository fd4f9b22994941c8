// How a rank ended where no rule of `headway why` knows more, in its words.

import type { ReportFailure } from "../api/types";

// Of Linux on every machine that Headway runs on.
const SIGNALS: Record<number, string> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  5: "SIGTRAP",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
  24: "SIGXCPU",
};

const senders: Record<number, string> = {
  9: "Ask who sends SIGKILL: the kernel when memory is short (`dmesg`), the scheduler (`sacct`), a person.",
  15: "Ask who sends SIGTERM: the scheduler (`sacct`), or a person.",
};

type End = Pick<ReportFailure, "rank" | "signal" | "exit_code">;

/** "rank 1 was killed by SIGKILL" */
export function endWords({ rank, signal, exit_code }: End): string {
  const who = rank === null ? "it" : `rank ${rank}`;
  if (signal) return `${who} was killed by ${SIGNALS[signal] ?? `signal ${signal}`}`;
  return exit_code ? `${who} exited with code ${exit_code}` : "not judged";
}

/** What to look at next; `backticks` hold what is typed. */
export function endNext({ signal }: End, job: string): string {
  const sender = senders[signal];
  const why = `\`headway why ${job}\` on its machine shows the last lines of the rank.`;
  return `Nothing says why. ${sender ? `${sender} ` : ""}${why}`;
}
