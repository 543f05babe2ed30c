// Reports failures of Vitest as JSON lines, with stacks that Vitest has already mapped back to the sources.
// Loaded with `--reporter=PATH`; writes to the file named by OUTRIGGER_VITEST_OUT and to nothing else.

import { appendFileSync } from "node:fs";

const out = process.env.OUTRIGGER_VITEST_OUT;
const write = (record) => {
  if (out) appendFileSync(out, JSON.stringify(record) + "\n");
};
const stacks = (error) => (error.stacks ?? []).map((frame) => [frame.file, frame.line, frame.column]);
const text = (error) => {
  const parts = [String(error.message ?? error)];
  if (error.diff) parts.push(String(error.diff));
  return parts.join("\n");
};
const names = (entity) => {
  const path = [];
  for (let at = entity; at && at.type !== "module"; at = at.parent) path.unshift(at.name);
  return path.join(" > ");
};

export default class OutriggerReporter {
  onTestCaseResult(test) {
    const result = test.result();
    if (result.state !== "failed") return;
    for (const error of result.errors ?? []) {
      write({
        test: names(test),
        file: test.module.moduleId,
        loc: test.location ?? null,
        name: error.name ?? null,
        message: text(error),
        stacks: stacks(error),
      });
    }
  }

  onTestSuiteResult(suite) {
    for (const error of suite.errors()) {
      write({
        test: names(suite),
        file: suite.module.moduleId,
        name: error.name ?? null,
        message: text(error),
        stacks: stacks(error),
      });
    }
  }

  onTestModuleEnd(module) {
    for (const error of module.errors()) {
      write({ module: module.moduleId, name: error.name ?? null, message: text(error), stacks: stacks(error) });
    }
  }

  onTestRunEnd(modules, errors) {
    for (const error of errors ?? []) {
      write({ module: "", name: error.name ?? null, message: text(error), stacks: stacks(error) });
    }
    let tests = 0;
    for (const module of modules) for (const _ of module.children.allTests()) tests += 1;
    write({ finished: true, tests });
  }
}
