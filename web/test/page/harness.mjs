// Named checks, one after another; a failure is told and the rest goes on.

export class Harness {
  constructor() {
    this.checks = [];
  }

  check(name, run) {
    this.checks.push({ name, run });
  }

  async run(context) {
    let failed = 0;
    for (const { name, run } of this.checks) {
      const begun = Date.now();
      await Promise.all(context.pages().map((page) => page.close()));
      try {
        await run(context);
        console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
      } catch (error) {
        failed += 1;
        console.log(`FAIL  ${name}\n${error.stack ?? error}`);
      }
    }
    console.log(`${this.checks.length - failed} of ${this.checks.length} checks passed`);
    return failed;
  }
}

export function equal(got, wanted, what) {
  const [x, y] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (x !== y) throw new Error(`${what}: got ${x}, wanted ${y}`);
}

export function ok(value, what) {
  if (!value) throw new Error(what);
}
