import type { Execution, ExecutionPath, LogItem, LogLine } from "@tidings/client";
import { describe, expect, it } from "vitest";
import { type Happening, timelineOf } from "../../../src/screens/execution/timeline";

const NOW = Date.parse("2026-03-02T12:00:00Z");
const at = (clock: string) => `2026-03-02T${clock}Z`;

function execution(given: Partial<Execution> = {}): Execution {
  return { status: "processing", createdAt: at("09:00:00"), triggeredBy: "api", completedAt: null, errorMessage: null, ...given } as Execution;
}

function line(given: Partial<LogLine>): LogLine {
  return { node: "hello", kind: "email", status: "sent", items: [], startedAt: null, endedAt: null, error: null, produced: null, ...given } as LogLine;
}

function item(given: Partial<LogItem>): LogItem {
  return { id: "i1", provider: "smtp", recipient: "ada@example.com", status: "sent", error: null, startedAt: at("09:00:01"), endedAt: at("09:00:02"), failedAttempts: [], ...given } as LogItem;
}

function happenings(log: LogLine[], path?: Partial<ExecutionPath>, given: Partial<Execution> = {}): Happening[] {
  return timelineOf(execution(given), log, path as ExecutionPath | undefined, NOW).flatMap((row) => ("gap" in row ? [] : [row.happening]));
}

describe("a timeline", () => {
  it("tells each attempt of a message before what became of it", () => {
    const failed = [1, 2].map((attempt) => ({ attempt, provider: "smtp", outcome: "retry", error: "451 later", startedAt: at(`09:00:0${attempt}`), endedAt: at(`09:00:0${attempt}`) }));

    const told = happenings([line({ items: [item({ failedAttempts: failed, endedAt: at("09:00:09") })] })]);

    expect(told.map((one) => one.title)).toEqual(["Started by api", "Attempt 1 by smtp", "Attempt 2 by smtp", "Sent"]);
    expect(told[1]?.about).toBe("451 later");
    expect(told[3]?.about).toBe("ada@example.com by smtp");
  });

  it("shows a lost answer as doubt", () => {
    const attempt = { attempt: 1, provider: "smtp", outcome: "unknown", error: "no answer", startedAt: at("09:00:01"), endedAt: at("09:00:02") };

    const told = happenings([line({ items: [item({ status: "in_doubt", endedAt: null, failedAttempts: [attempt] })] })]);

    expect(told.at(-1)?.tone).toBe("doubt");
  });

  it("squeezes a long time without anything into one line", () => {
    const log = [line({ node: "wait", kind: "delay", startedAt: at("09:00:00"), endedAt: at("11:00:00") }), line({ kind: "webhook", endedAt: at("11:00:00") })];

    const gaps = timelineOf(execution(), log, undefined, NOW).flatMap((row) => ("gap" in row ? [row.gap] : []));

    expect(gaps).toEqual([7200]);
  });

  it("ends with what waits, why and until when", () => {
    const nodes = [{ id: "wait", type: "delay", state: "waiting", until: at("18:00:00"), why: "waits for a while" }];

    const told = happenings([], { nodes: nodes as ExecutionPath["nodes"] });

    expect(told.at(-1)).toMatchObject({ title: "Waits for a while", at: at("18:00:00"), isComing: true, tone: "info" });
  });

  it("says how it ended, with the error", () => {
    const told = happenings([], undefined, { status: "failed", completedAt: at("09:01:00"), errorMessage: "550 no such user" });

    expect(told.at(-1)).toMatchObject({ title: "Failed", about: "550 no such user", tone: "bad" });
  });
});
